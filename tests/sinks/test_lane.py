"""When a partition's rows are ready, and which range they are."""

import pytest

from tachograph.schemas.settings import SinkSettings
from tachograph.schemas.topics import ROWS
from tachograph.sinks.clickhouse.lane import Lane
from tachograph.sinks.clickhouse.notes import Note
from tests.sinks.messages import FakeMessage

LIMITS = SinkSettings(batch_rows=3, batch_bytes=1024, batch_within_s=1.0)
TOPIC = ROWS[0]


def lane_at(committed: int | None, note: Note | None = None, *offsets: int, size: int = 1) -> Lane[FakeMessage]:
    lane: Lane[FakeMessage] = Lane.resumed(TOPIC, 0, committed, note.to_text() if note else None)
    if offsets:
        lane.read([FakeMessage(b"x" * size, offset) for offset in offsets], now=0.0)
    return lane


def taken(lane: Lane[FakeMessage]) -> tuple[int, int, list[int]] | None:
    found = lane.take(LIMITS, now=0.0)
    return None if found is None else (found.start, found.end, [message.offset() for message in found.messages])


def test_a_range_starts_where_the_last_one_ended_whatever_is_missing_there() -> None:
    """Offsets may have gaps: expired messages, markers of transactions."""
    lane = lane_at(10, None, 12, 15)
    assert not lane.is_full(LIMITS)
    assert not lane.is_due(LIMITS, now=0.9)
    assert lane.is_due(LIMITS, now=1.0)
    assert taken(lane) == (10, 16, [12, 15])
    lane.landed(16, {"events/0": (1, 1)})
    assert (lane.start, lane.marks, taken(lane)) == (16, {"events/0": (1, 1)}, None)


def test_a_partition_nobody_has_read_starts_at_its_first_message() -> None:
    """There is no committed offset to start from."""
    assert taken(lane_at(None, None, 40, 41)) == (40, 42, [40, 41])


def test_a_range_is_cut_at_the_limits() -> None:
    """By rows, by bytes, and never to nothing."""
    lane = lane_at(0, None, *range(7))
    assert lane.is_full(LIMITS)
    assert taken(lane) == (0, 3, [0, 1, 2])
    lane.landed(3, {})
    assert taken(lane) == (3, 6, [3, 4, 5])
    assert taken(lane_at(0, None, 0, 1, 2, size=500)) == (0, 2, [0, 1])
    assert taken(lane_at(0, None, 0, 1, size=5000)) == (0, 1, [0])


def test_one_range_is_under_way_at_a_time() -> None:
    """What is read meanwhile waits, whole and in order; where the range began is not forgotten."""
    lane = lane_at(10, None, 10, 11, 12)
    assert taken(lane) == (10, 13, [10, 11, 12])
    lane.read([FakeMessage(b"x", 13), FakeMessage(b"x", 14), FakeMessage(b"x", 15)], now=0.0)
    assert (lane.is_full(LIMITS), lane.is_due(LIMITS, now=99.0), taken(lane)) == (False, False, None)
    assert (lane.start, len(lane.waiting)) == (10, 3)
    lane.landed(13, {"events/0": (3, 0)})
    assert lane.is_full(LIMITS)
    assert taken(lane) == (13, 16, [13, 14, 15])


def test_an_unfinished_plan_is_repeated_exactly() -> None:
    """Not shorter because time is up, not longer because more has come, not split by smaller limits."""
    lane = lane_at(10, Note(15, {"events/0": (7, 2)}), 10, 11, 12, 13)
    assert not lane.is_due(LIMITS, now=99.0)
    assert taken(lane) is None
    lane.read([FakeMessage(b"x", 14), FakeMessage(b"x", 15)], now=99.0)
    assert lane.is_full(LIMITS)
    found = lane.take(LIMITS, now=99.0)
    assert found is not None
    assert (found.start, found.end, len(found.messages), found.planned) == (10, 15, 5, True)
    assert lane.marks == {"events/0": (7, 2)}
    lane.landed(15, {})
    assert taken(lane) == (15, 16, [15])


@pytest.mark.parametrize(
    ("offsets", "end_of_log", "expected"),
    [
        pytest.param([10, 20], None, (10, 15, [10]), id="the next message is beyond the planned end"),
        pytest.param([10], 15, (10, 15, [10]), id="the log ends there and the rest has expired"),
        pytest.param([], 15, (10, 15, []), id="everything has expired"),
        pytest.param([10], 12, None, id="the rest has not been read yet"),
    ],
)
def test_a_plan_whose_end_has_expired_is_still_complete(
    offsets: list[int], end_of_log: int | None, expected: tuple[int, int, list[int]] | None
) -> None:
    """A range is offsets; its rows are those that exist."""
    lane = lane_at(10, Note(15), *offsets)
    if end_of_log is not None:
        lane.reached(end_of_log)
    assert taken(lane) == expected


def test_a_log_that_began_again_is_read_from_its_beginning() -> None:
    """The topic was deleted and made anew: the old offset and plan mean nothing."""
    assert taken(lane_at(1000, Note(2000), 0, 1)) == (0, 2, [0, 1])
    lane = lane_at(10, None, 10, 11)
    assert taken(lane) == (10, 12, [10, 11])
    lane.read([FakeMessage(b"x", 0)], now=0.0)
    lane.landed(12, {})
    assert taken(lane) == (0, 1, [0])


def test_a_plan_that_ends_before_the_offset_is_no_plan() -> None:
    """Somebody moved the offset with Kafka's own tools."""
    assert lane_at(100, Note(50)).replay_end is None
