"""The worker on a real broker: rows in the same partition, bad input kept, loud where it must stop."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from aiokafka.partitioner import DefaultPartitioner  # type: ignore[import-untyped]

from tachograph.processors.state import RunState
from tachograph.schemas.headers import stream_name
from tachograph.schemas.topics import row_topic
from tests.processors.pipeline import PARTITIONS, Pipeline, terminate
from tests.processors.records import CODEC, run_of

pytestmark = pytest.mark.stack


def test_mixed_records_become_exactly_their_rows(pipeline: Pipeline) -> None:
    """Over a graceful restart in the middle of every run, with bad bytes and a foreign partitioner in between."""
    runs = [run_of(f"r{number}", length=25) for number in range(12)]
    elsewhere = run_of("foreign")
    key = b"trace-foreign"
    hashed = DefaultPartitioner()(key, [*range(PARTITIONS)], [*range(PARTITIONS)])
    foreign = (hashed + 1) % PARTITIONS

    pipeline.publish([record for run in runs for record in run[:10]])
    pipeline.publish(elsewhere[:6], partition=foreign)
    pipeline.publish_raw([(b"bad", b"junk"), (b"bad", None), (None, b"\xc3\x01")], partition=1, traceparent=b"00-x")
    first = pipeline.start()
    pipeline.wait_until_landed(len(pipeline.expected()))
    assert terminate(first) == 0, pipeline.log()
    assert pipeline.committed() == _ends(pipeline), "a graceful stop commits everything it did"

    pipeline.publish([record for run in runs for record in run[10:]])
    pipeline.publish(elsewhere[6:], partition=foreign)
    second = pipeline.start()
    pipeline.wait_until_landed(len(pipeline.expected()))
    assert terminate(second) == 0, pipeline.log()

    assert pipeline.landed() == pipeline.expected()
    for item in pipeline.written():
        assert item.source.stream == stream_name(pipeline.names.events, item.partition)
    partition, value = pipeline.states()[b"acme/run/foreign"]
    assert partition == foreign, "the state is where the records are, not where its key hashes"
    assert value is not None
    assert RunState.from_bytes(value).received == len(elsewhere)
    letters = [item for item in pipeline.landed() if item.topic == pipeline.names.dead_letters]
    assert [(item.key, item.value) for item in letters] == [(b"bad", b"junk"), (b"bad", None), (None, b"\xc3\x01")]
    assert {item.headers["traceparent"] for item in letters} == {b"00-x"}


PACK = "pack: mine\nversion: {version}\nrules:\n- {{id: one, check: {check}}}\n"


def test_rules_are_read_again_on_a_signal(pipeline: Pipeline, tmp_path: Path) -> None:
    """While it works: a bad pack is named and changes nothing, a good one is in force for the next event."""
    pack = tmp_path / "rules.yaml"
    pack.write_text(PACK.format(version="1.0.0", check="no_emojis"))
    events = [[item for item in run_of(f"r{number}") if item[0] == "DecisionEvent"] for number in range(3)]

    def evaluations(number: int) -> list[str]:
        topic = pipeline.names.output(row_topic("evaluations"))
        found = [CODEC.decode_as("rows.evaluations", item.value) for item in pipeline.landed() if item.topic == topic]
        return [row["rules"] for row in found if row["run_id"] == f"r{number}"]

    def rules_of(number: int) -> str:
        pipeline.publish(events[number])
        pipeline.wait_until(lambda: bool(evaluations(number)), worker)
        [rules] = evaluations(number)
        return rules

    worker = pipeline.start(evaluate__rules=str(pack))
    assert rules_of(0) == "mine@1.0.0"
    pack.write_text(PACK.format(version="2.0.0", check="nope"))
    worker.send_signal(signal.SIGHUP)
    pipeline.wait_until(lambda: "rules.yaml:4:20: there is no such check" in pipeline.log(), worker)
    assert rules_of(1) == "mine@1.0.0"
    pack.write_text(PACK.format(version="2.0.0", check="valid_json"))
    worker.send_signal(signal.SIGHUP)
    pipeline.wait_until(lambda: "rule packs in force: mine@2.0.0" in pipeline.log(), worker)
    assert rules_of(2) == "mine@2.0.0"
    assert terminate(worker) == 0, pipeline.log()


def test_an_idle_worker_stops_at_once(pipeline: Pipeline) -> None:
    """With nothing to finish, and nothing to commit."""
    pipeline.publish(run_of("only"))
    worker = pipeline.start()
    pipeline.wait_until_landed(len(pipeline.expected()))
    assert terminate(worker) == 0
    assert "error" not in pipeline.log().lower()


def test_too_many_dead_letters_stop_it_before_they_are_acknowledged(pipeline: Pipeline) -> None:
    """Exit code 1, a sentence, and the input is still there."""
    pipeline.publish_raw([(b"k", b"junk")] * 20, partition=0)
    worker = pipeline.start(dlq__max_consecutive="5")
    assert worker.wait(60) == 1
    assert "more than 5 records in a row on partition 0" in pipeline.log()
    assert pipeline.committed().get(0, -1) <= 0


def test_a_missing_topic_is_named(bare_pipeline: Pipeline) -> None:
    """With the command that creates it."""
    bare_pipeline.create_topics(skip=bare_pipeline.names.events)
    worker = bare_pipeline.start()
    assert worker.wait(60) == 1
    assert f"the topic {bare_pipeline.names.events} does not exist; run: tachograph topics apply" in bare_pipeline.log()


def test_topics_of_another_size_are_refused(bare_pipeline: Pipeline) -> None:
    """Partition p has to exist everywhere."""
    bare_pipeline.create_topics(uneven=bare_pipeline.names.dead_letters)
    worker = bare_pipeline.start()
    assert worker.wait(60) == 1
    assert "give all topics the same count" in bare_pipeline.log()


def test_an_unreachable_broker_is_one_sentence(tmp_path: Path) -> None:
    """In bounded time."""
    env = {
        "TACHOGRAPH_HOME": str(tmp_path),
        "TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "TACHOGRAPH_KAFKA__REQUEST_TIMEOUT_MS": "500",
    }
    command = [sys.executable, "-m", "tachograph.processors"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "error: no Kafka broker answered at 127.0.0.1:1 within 0.5 s" in done.stderr
    assert "Traceback" not in done.stderr


def _ends(pipeline: Pipeline) -> dict[int, int]:
    ends: dict[int, int] = {}
    for record in pipeline.events():
        ends[record.partition] = record.offset + 1
    return ends
