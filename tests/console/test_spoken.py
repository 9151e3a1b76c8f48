"""Times, lengths and numbers read well."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tachograph.console import spoken

NONE = "\u2013"
NOW = datetime(2026, 5, 9, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "now"), (59, "59 s ago"), (60, "1 min ago"), (3600, "1 h ago"), (200_000, "2 d ago"), (-120, "in 2 min")],
)
def test_moments_are_relative(seconds: int, said: str) -> None:
    """In the one unit that matters."""
    assert spoken.ago(NOW - timedelta(seconds=seconds), NOW) == said


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (None, NONE),
        (0, "0"),
        (7, "7 ms"),
        (2000, "2 s"),
        (1500, "1.5 s"),
        (60_000, "1 min"),
        (61_000, "1 min 1 s"),
        (5_400_000, "1 h 30 min"),
    ],
)
def test_durations_have_the_unit_that_fits(milliseconds: int | None, said: str) -> None:
    """A dash if there is none."""
    assert spoken.duration(milliseconds) == said


def test_numbers_and_sizes() -> None:
    """Thousands apart; no zeros that say nothing."""
    assert [spoken.number(value) for value in (None, 0, 1234567, 0.5, 14.4)] == [NONE, "0", "1,234,567", "0.5", "14.4"]
    assert [spoken.size(value) for value in (None, 12, 2048, 3 << 20)] == [NONE, "12 B", "2.0 KB", "3.0 MB"]


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        pytest.param(NOW - timedelta(hours=1), "11:00:00 UTC", id="today"),
        pytest.param(NOW - timedelta(days=1), "2026-05-08 12:00:00 UTC", id="yesterday"),
        pytest.param(NOW.astimezone(timezone(timedelta(hours=13))), "12:00:00 UTC", id="told in another zone"),
    ],
)
def test_a_clock_tells_the_date_where_it_matters(moment: datetime, said: str) -> None:
    """In UTC, and says so: logs of other machines are compared with it."""
    assert spoken.clock(moment, NOW) == said
    assert spoken.clock(moment, NOW, timespec="milliseconds") == said.replace(" UTC", ".000 UTC")
    assert spoken.exact(moment).endswith(":00.000 UTC")
