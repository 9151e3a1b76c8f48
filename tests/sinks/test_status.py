"""What a sink says of itself: dead when it no longer goes round, not ready while rows only wait."""

from types import SimpleNamespace
from typing import Any

import pytest

from tachograph.sinks.clickhouse.status import SILENT_S, SinkStatus


def reader(**changes: Any) -> Any:
    """The part of a reader that is asked."""
    return SimpleNamespace(**{"heard_at": 0.0, "joined": True, "trouble": None, "lag": {}} | changes)


@pytest.mark.parametrize(
    ("now", "dead"),
    [pytest.param(SILENT_S - 1, False, id="a while ago"), pytest.param(SILENT_S, True, id="too long ago")],
)
def test_a_loop_that_stands_still_is_dead(now: float, *, dead: bool) -> None:
    """However busy the other threads are."""
    status = SinkStatus(clock=lambda: now)
    status.follow(reader())
    assert (status.dead() is not None) is dead


def test_before_it_joins_it_is_alive_and_not_ready() -> None:
    """Restarting it would not help."""
    status = SinkStatus()
    assert status.dead() is None
    assert status.not_ready() == "the sink has no partitions yet"
    status.follow(reader(joined=False))
    assert status.not_ready() == "the sink has no partitions yet"


def test_trouble_is_said_as_long_as_it_lasts() -> None:
    """ClickHouse is away: nothing is lost, and nothing lands."""
    status = SinkStatus()
    status.follow(reader(trouble="ClickHouse does not take rows; they wait in Kafka"))
    assert status.not_ready() == "ClickHouse does not take rows; they wait in Kafka"
    status.follow(reader())
    assert status.not_ready() is None


def test_lag_is_that_of_the_partitions_held_now() -> None:
    """What was given away is no longer this sink's to report."""
    status = SinkStatus()
    status.follow(reader(lag={("gone", 1): 5}))
    status.metrics()
    status.follow(reader(lag={("rows", 0): 7}))
    served = status.metrics().decode()
    assert 'tachograph_sink_lag{partition="0",topic="rows"} 7.0' in served
    assert "gone" not in served
