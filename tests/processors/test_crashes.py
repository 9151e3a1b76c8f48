"""Kill a worker anywhere, or move its partitions: each output is there once, and every count is right."""

import random

import pytest

from tachograph.schemas.topics import row_topic
from tests.processors.pipeline import Pipeline, terminate
from tests.processors.records import CODEC, run_of

pytestmark = pytest.mark.stack

KILLS = 4


def _ends(pipeline: Pipeline) -> list[tuple[int, int]]:
    topic = pipeline.names.output(row_topic("agent_runs"))
    rows = [CODEC.decode_as("rows.agent_runs", item.value) for item in pipeline.landed() if item.topic == topic]
    return [(row["emitted"], row["received"]) for row in rows if row["event_type"] == "run_ended"]


def test_kill_9_at_any_point_loses_and_repeats_nothing(pipeline: Pipeline) -> None:
    """Restarted under the same instance id it has its partitions back at once, long before the session times out."""
    runs = [run_of(f"r{number}", length=40) for number in range(40)]
    pipeline.publish([run[seq] for seq in range(40) for run in runs])
    expected = pipeline.expected()
    points = sorted(random.sample(range(1, len(expected)), KILLS))
    settings = {
        "worker__batch_size": "60",
        "worker__instance_id": "one",
        "worker__session_timeout_s": "50",
    }
    for point in points:
        worker = pipeline.start(**settings)
        pipeline.wait_for_outputs(lambda seen, enough=point: seen >= enough, worker)  # type: ignore[misc]
        worker.kill()
        worker.wait()
    last = pipeline.start(**settings)
    pipeline.wait_until_ready(last)  # those before it may have left it nothing to do
    pipeline.wait_until_landed(len(expected))
    assert terminate(last) == 0, pipeline.log()
    assert pipeline.landed() == expected
    assert _ends(pipeline) == [(40, 40)] * len(runs)


def test_workers_that_come_and_go_lose_and_repeat_nothing(pipeline: Pipeline) -> None:
    """Two rebalances while records flow: a second worker joins, the first leaves."""
    runs = [run_of(f"r{number}", length=30) for number in range(30)]
    thirds = [[run[seq] for seq in range(start, start + 10) for run in runs] for start in (0, 10, 20)]
    pipeline.publish(thirds[0])
    first = pipeline.start(worker__batch_size="60")
    pipeline.wait_for_outputs(lambda seen: seen > 0, first)
    second = pipeline.start(worker__batch_size="60")
    pipeline.publish(thirds[1])
    pipeline.wait_until_landed(len(pipeline.expected()))
    pipeline.publish(thirds[2])
    assert terminate(first) == 0, pipeline.log()
    pipeline.wait_until_landed(len(pipeline.expected()))
    assert terminate(second) == 0, pipeline.log()
    assert pipeline.landed() == pipeline.expected()
    assert _ends(pipeline) == [(30, 30)] * len(runs)
