"""Which rows are meant: those of a run, or of a time. Pure: SQL and its parameters."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from tachograph.schemas.tables.kinds import Table

_TIMES: Final = ("occurred_at", "replayed_at", "minute")
"""Columns that say when it happened, whichever of them a table has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What is exported. Empty parts do not restrict."""

    tenant: str = ""
    run: str = ""
    since: datetime | None = None
    """This moment and later, by the time at which it happened."""
    until: datetime | None = None
    """Before this moment."""

    def where(self, table: Table) -> tuple[str, dict[str, Any]]:
        """A condition on the rows of a table, and its parameters."""
        parts, given = ["1"], dict[str, Any]()
        if self.tenant:
            parts.append("tenant_id = {tenant:String}")
            given["tenant"] = self.tenant
        if self.run:
            parts.append("run_id = {run:String}")
            given["run"] = self.run
        for sign, moment, name in ((">=", self.since, "since"), ("<", self.until, "until")):
            if moment is not None:
                parts.append(f"{time_column(table)} {sign} fromUnixTimestamp64Micro({{{name}:Int64}}, 'UTC')")
                given[name] = int(moment.astimezone(UTC).timestamp() * 1_000_000)
        return " AND ".join(parts), given


def time_column(table: Table) -> str:
    """The column that says when what a row tells of happened."""
    names = {column.name for column in table.columns}
    return next(name for name in _TIMES if name in names)


def has_runs(table: Table) -> bool:
    """Whether rows of a table belong to runs."""
    return any(column.name == "run_id" for column in table.columns)
