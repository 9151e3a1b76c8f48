"""Finding the rows that ClickHouse refuses. Pure: what an attempt is, the caller says."""

from collections.abc import Callable
from typing import NamedTuple

from tachograph.sinks.errors import DeadLetterLimitError, RowsRefusedError

Attempt = Callable[[int, int], RowsRefusedError | None]
"""Insert rows ``[low, high)``, whole or not at all; return the refusal if they were refused."""


class Refused(NamedTuple):
    """One row that was refused by itself."""

    row: int
    error: RowsRefusedError


def land_all_but_refused(count: int, attempt: Attempt, *, limit: int) -> list[Refused]:
    """Land ``count`` rows in as few attempts as halving takes; return those refused one by one, in order.

    The same rows give the same attempts in the same order, so that each has the same token when a crash repeats them.
    Nothing is inferred from a neighbour's success: a row counts as refused only after it was refused alone.
    Raises DeadLetterLimitError once ``limit`` rows in a row are refused.
    """
    refused: list[Refused] = []
    in_a_row = 0
    waiting = [(0, count)] if count else []
    while waiting:
        low, high = waiting.pop()
        error = attempt(low, high)
        if error is None:
            in_a_row = 0
        elif high - low > 1:
            middle = (low + high) // 2
            waiting += [(middle, high), (low, middle)]
        else:
            refused.append(Refused(low, error))
            in_a_row += 1
            if in_a_row >= limit:
                raise DeadLetterLimitError(
                    f"ClickHouse refused {in_a_row} rows in a row, the last because: {error}. "
                    "That is no accident of single rows: compare the tables with this version (`tachograph migrate`), "
                    "or raise dlq.max_consecutive. Nothing is lost; the sink repeats this range when it starts."
                )
    return refused
