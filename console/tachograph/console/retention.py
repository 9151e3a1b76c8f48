"""What is kept, for how long, and why: the classes of the contract beside what the tables hold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from tachograph.console.database import Reader
from tachograph.schemas.retention import TABLES, Keeping, clock_of, keeps_runs

_SIZES_SQL: Final = """
SELECT name, total_rows, total_bytes FROM system.tables WHERE database = currentDatabase() AND total_rows IS NOT NULL
"""
_REASONS_SQL: Final = """
SELECT reason, uniqExact(tenant_id, run_id) FROM kept_runs GROUP BY reason ORDER BY reason
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Rows of one table that are kept for the same time."""

    table: str
    keeping: str
    """Class of the table; ``protected`` for rows of runs that are kept for good."""
    days: int | None
    """How long; None for good."""
    rows: int
    bytes: int
    """The table's size on disk, divided by rows."""
    oldest: datetime | None
    next_expiry: datetime | None
    """When the oldest of these rows may go; None if never."""
    overdue: int
    """Rows past their time that the next merge removes."""
    unmarked: int
    """Rows of kept runs that are not marked, and would expire."""


@dataclass(frozen=True, slots=True)
class RetentionReport:
    """The whole answer."""

    shares: Sequence[Share]
    kept_runs: dict[str, int]
    """Runs that are kept for good, by reason. A run with two reasons counts under both."""


def retention_report(database: Reader) -> RetentionReport:
    """Ask every table once."""
    sizes = {name: (rows, size or 0) for name, rows, size in database.rows(_SIZES_SQL)}
    shares = [
        share
        for table, keeping in TABLES.items()
        if table in sizes
        for share in _shares(database, table, keeping, *sizes[table])
    ]
    return RetentionReport(shares, dict(database.rows(_REASONS_SQL)))  # type: ignore[arg-type]  # two columns


def _shares(database: Reader, table: str, keeping: Keeping, rows: int, size: int) -> Iterator[Share]:
    if keeping.days is None:
        nothing_goes: Any = {"days": None, "oldest": None, "next_expiry": None, "overdue": 0, "unmarked": 0}
        yield Share(table=table, keeping=keeping.name, rows=rows, bytes=size, **nothing_goes)
        return
    for is_kept, count, oldest, overdue, unmarked in database.rows(_share_sql(table), {"days": keeping.days}):
        days = None if is_kept else keeping.days
        yield Share(
            table=table,
            keeping="protected" if is_kept else keeping.name,
            days=days,
            rows=count,
            bytes=size * count // max(rows, count),
            oldest=oldest,
            next_expiry=None if days is None else oldest + timedelta(days=days),
            overdue=0 if is_kept else overdue,
            unmarked=unmarked,
        )


def _share_sql(table: str) -> str:
    clock, kept, unmarked = clock_of(table), "false", "0"
    if keeps_runs(table):
        kept = "_kept OR (tenant_id, run_id) IN (SELECT tenant_id, run_id FROM kept_runs)"
        unmarked = "countIf(is_kept AND NOT _kept)"
    return (
        f"SELECT {kept} AS is_kept, count(), toDateTime(min({clock}), 'UTC'), "  # noqa: S608 - names of our own tables
        f"countIf({clock} < now() - INTERVAL {{days:UInt32}} DAY), {unmarked} "
        f"FROM {table} GROUP BY is_kept ORDER BY is_kept"
    )
