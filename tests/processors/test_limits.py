"""Dead letters have limits, so that an outage does not look like housekeeping."""

import pytest

from tachograph.processors.errors import DeadLetterLimitError
from tachograph.processors.limits import DeadLetterLimits
from tachograph.schemas.settings import DeadLetterSettings


def _limits(**changes: float) -> DeadLetterLimits:
    return DeadLetterLimits(
        DeadLetterSettings(**({"max_ratio": 0.5, "ratio_window": 10, "max_consecutive": 3} | changes))
    )


def test_a_row_of_dead_letters_on_one_partition_stops() -> None:
    """The limit itself is allowed; one more is not."""
    limits = _limits()
    for _ in range(3):
        limits.record(0, dead=True)
    with pytest.raises(DeadLetterLimitError, match=r"partition 0.*dlq.max_consecutive"):
        limits.record(0, dead=True)


def test_rows_are_counted_by_partition_and_broken_by_a_good_record() -> None:
    """Neither other partitions nor earlier dead letters count."""
    limits = _limits(max_ratio=1.0)
    for _ in range(5):
        for partition in range(3):
            limits.record(partition, dead=True)
        for partition in range(3):
            limits.record(partition, dead=False)


def test_the_ratio_is_not_judged_before_the_window_is_full() -> None:
    """Nine of nine is not yet a share of ten; then six of the last ten is too many."""
    limits = _limits(max_consecutive=100)
    for _ in range(9):
        limits.record(0, dead=True)
    with pytest.raises(DeadLetterLimitError, match=r"10 of the last 10.*dlq.max_ratio"):
        limits.record(0, dead=True)


def test_the_window_moves() -> None:
    """Old dead letters leave it."""
    limits = _limits(max_consecutive=100)
    for _ in range(5):
        limits.record(0, dead=True)
    for _ in range(10):
        limits.record(0, dead=False)
    for _ in range(5):
        limits.record(0, dead=True)
    with pytest.raises(DeadLetterLimitError):
        limits.record(0, dead=True)
