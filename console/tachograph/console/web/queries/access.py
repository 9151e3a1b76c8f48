"""Who looked at captured content."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tachograph.console.web.database import Row, TenantDatabase

PAGE: Final = 100
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def views(database: TenantDatabase, *, viewer: str, run_id: str, before: str) -> list[Row]:
    """One page and one more, latest first."""
    where, parameters = ["tenant_id = {tenant:String}"], dict[str, Any]()
    if viewer:
        where.append("viewer = {viewer:String}")
        parameters["viewer"] = viewer
    if run_id:
        where.append("run_id = {run:String}")
        parameters["run"] = run_id
    if before.isdecimal() and len(before) <= 17:  # noqa: PLR2004 - as in the list of runs
        where.append("occurred_at < {at:DateTime64(6, 'UTC')}")
        parameters["at"] = _EPOCH + timedelta(microseconds=int(before))
    return database.ask(
        "SELECT view_id, occurred_at, viewer, role, kind, run_id, target, detail, remote FROM content_views "  # noqa: S608 - ours
        f"WHERE {' AND '.join(where)} ORDER BY occurred_at DESC LIMIT 1 BY view_id LIMIT {PAGE + 1}",
        **parameters,
    )


def cursor(row: Row) -> str:
    """Where the page after this row begins."""
    return str((row["occurred_at"] - _EPOCH) // timedelta(microseconds=1))
