"""Bisection finds exactly the refused rows and lands all others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.sinks.clickhouse.bisect import land_all_but_refused
from tachograph.sinks.errors import DeadLetterLimitError, RowsRefusedError

REFUSAL = RowsRefusedError("refused", code=469)


class Table:
    """Refuses a file that holds one bad row; remembers tokens as ClickHouse does."""

    def __init__(self, bad: set[int]) -> None:
        self.bad = bad
        self.landed: list[int] = []
        self.attempts: list[tuple[int, int]] = []

    def attempt(self, low: int, high: int) -> RowsRefusedError | None:
        repeated = (low, high) in self.attempts
        self.attempts.append((low, high))
        if self.bad.intersection(range(low, high)):
            return REFUSAL
        if not repeated:
            self.landed += range(low, high)
        return None


@given(count=st.integers(0, 200), data=st.data())
def test_every_row_lands_or_is_refused_alone(count: int, data: st.DataObject) -> None:
    """Whatever the bad rows are: found exactly, in order, and a second pass changes nothing."""
    bad = data.draw(st.sets(st.integers(0, max(0, count - 1)), max_size=count)) if count else set()
    table = Table(bad)
    refused = land_all_but_refused(count, table.attempt, limit=1000)
    assert [item.row for item in refused] == sorted(bad)
    assert table.landed == [row for row in range(count) if row not in bad]

    once, table.attempts = list(table.landed), list(table.attempts)
    first = list(table.attempts)
    assert land_all_but_refused(count, table.attempt, limit=1000) == refused
    assert table.landed == once, "the same attempts under the same tokens land nothing twice"
    assert table.attempts[len(first) :] == first


def test_one_bad_row_costs_few_attempts() -> None:
    """Halving, not trying one by one."""
    table = Table({7_777})
    land_all_but_refused(20_000, table.attempt, limit=10)
    assert len(table.attempts) < 40


def test_a_table_that_refuses_everything_stops_the_sink() -> None:
    """Then the cause is not in the rows, and thousands of dead letters would hide it."""
    table = Table(set(range(1000)))
    with pytest.raises(DeadLetterLimitError, match="50 rows in a row"):
        land_all_but_refused(1000, table.attempt, limit=50)
    assert len(table.attempts) < 150
