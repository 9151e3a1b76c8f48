"""Reading again from an earlier place: where it starts, what is not written twice, and when it is refused."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from hypothesis import given
from hypothesis import strategies as st

from tachograph.processors.deadletters import Message
from tachograph.processors.errors import ReplayError
from tachograph.processors.replay import parse_start, target, unwritten
from tachograph.processors.run import run_worker
from tachograph.schemas.headers import Header, SourceCoordinates
from tachograph.schemas.settings import KafkaSettings, Settings
from tests.processors.pipeline import PARTITIONS, Pipeline, terminate
from tests.processors.records import run_of

OFFSETS = st.integers(min_value=0, max_value=1000)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        pytest.param("earliest", None, id="the oldest"),
        pytest.param("0", 0, id="an offset"),
        pytest.param("2026-03-04T05:06:07Z", datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC), id="a time"),
    ],
)
def test_starts(text: str, start: object) -> None:
    """Three ways to say where."""
    assert parse_start(text) == start


@pytest.mark.parametrize("text", ["", "-1", "latest", "2026-03-04T05:06:07", "1e3", "٣"])
def test_no_starts(text: str) -> None:
    """``latest`` would skip records."""
    with pytest.raises(ReplayError, match="earliest"):
        parse_start(text)


def test_a_start_that_is_none_is_refused_before_a_broker_is_asked(tmp_path: Path) -> None:
    """Whoever mistypes it need not wait for one."""
    settings = Settings(home=tmp_path, kafka=KafkaSettings(bootstrap_servers="127.0.0.1:1"))
    with pytest.raises(ReplayError, match="earliest"):
        run_worker(settings, replay_from="yesterday")


@given(OFFSETS, OFFSETS, OFFSETS)
def test_a_replay_never_skips(asked: int, oldest: int, committed: int) -> None:
    """It goes to what was asked for as far as that exists, and never past what was processed."""
    place = target(asked, oldest, committed)
    assert place <= committed
    assert place in {asked, oldest, committed}
    assert place == asked or asked < oldest or asked > committed


@given(st.lists(st.tuples(st.integers(0, 2), OFFSETS)), st.dictionaries(st.integers(0, 2), OFFSETS))
def test_only_what_was_not_written_is_written(places: list[tuple[int, int]], written: dict[int, int]) -> None:
    """Input offsets below the mark of their partition are left out, and the rest keeps its order."""
    messages = [
        Message("t", p, b"k", b"v", [(Header.SOURCE.value, SourceCoordinates(offset, 0, "s").to_bytes())])
        for p, offset in places
    ]
    kept = [message for message, (p, offset) in zip(messages, places, strict=True) if offset >= written.get(p, 0)]
    assert unwritten(messages, written) == kept


def test_what_has_no_source_is_always_written() -> None:
    """It was not made of a record that is read again."""
    message = Message("t", 0, b"k", b"v", [("other", b"x")])
    assert unwritten([message], {0: 100}) == [message]


@pytest.mark.stack
def test_nothing_is_written_twice_with_or_without_the_state(pipeline: Pipeline) -> None:
    """From the beginning, from the middle, after the changelog was lost; and runs in flight end with their counts."""
    runs = [run_of(f"r{number}", length=20) for number in range(9)]
    pipeline.publish([record for run in runs for record in run[:15]])
    pipeline.publish_raw([(b"bad", b"junk")], partition=1)
    worker = pipeline.start()
    pipeline.wait_until_landed(len(pipeline.expected()))
    assert terminate(worker) == 0, pipeline.log()
    written = pipeline.written()
    ends = pipeline.committed()

    for replays, (start, lost) in enumerate((("earliest", False), ("7", False), ("earliest", True)), 1):
        if lost:
            _delete_topic(pipeline)
        worker = pipeline.start("--from", start)
        pipeline.wait_until(lambda: _rewound(pipeline) == replays * PARTITIONS, worker)  # noqa: B023 - used at once
        pipeline.wait_until_committed(ends, worker)
        assert terminate(worker) == 0, pipeline.log()
        assert pipeline.written() == written, f"--from {start}, changelog lost: {lost}"

    pipeline.publish([record for run in runs for record in run[15:]])
    worker = pipeline.start()
    pipeline.wait_until_landed(len(pipeline.expected()))
    assert terminate(worker) == 0, pipeline.log()
    assert pipeline.landed() == pipeline.expected()


@pytest.mark.stack
def test_a_replay_that_is_killed_still_writes_nothing_twice(pipeline: Pipeline) -> None:
    """The worker that takes over was not told of the replay, and finds out."""
    pipeline.publish([record for number in range(30) for record in run_of(f"r{number}", length=20)])
    first = pipeline.start()
    pipeline.wait_until_landed(len(pipeline.expected()))
    assert terminate(first) == 0, pipeline.log()
    written, ends = pipeline.written(), pipeline.committed()
    _delete_topic(pipeline)
    settings = {"worker__batch_size": "20", "worker__instance_id": "one", "worker__session_timeout_s": "50"}
    second = pipeline.start("--from", "0", **settings)
    pipeline.wait_until(lambda: _rewound(pipeline) == PARTITIONS, second)
    pipeline.wait_until(lambda: any(at > 0 for at in pipeline.committed().values()), second)
    second.kill()
    second.wait()
    third = pipeline.start(**settings)
    pipeline.wait_until_committed(ends, third)
    assert terminate(third) == 0, pipeline.log()
    assert pipeline.written() == written


@pytest.mark.stack
def test_it_is_refused_while_a_worker_is_at_work(pipeline: Pipeline) -> None:
    """Exit code 1, a sentence, and nothing moved."""
    pipeline.publish(run_of("only"))
    worker = pipeline.start()
    pipeline.wait_until_landed(len(pipeline.expected()))
    refused = pipeline.start("--from", "earliest")
    assert refused.wait(60) == 1
    assert "1 workers of the group" in pipeline.log()
    assert "stop them" in pipeline.log()
    assert terminate(worker) == 0
    assert max(pipeline.committed().values()) == 12


def _rewound(pipeline: Pipeline) -> int:
    """Partitions that were moved back so far."""
    return pipeline.log().count("is read again from")


def _delete_topic(pipeline: Pipeline) -> None:
    admin: AdminClient = pipeline.admin
    admin.delete_topics([pipeline.changelog])[pipeline.changelog].result()
    pipeline.wait_until(lambda: pipeline.changelog not in admin.list_topics(timeout=30).topics)
