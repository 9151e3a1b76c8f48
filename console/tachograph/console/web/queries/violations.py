"""The stream of violations, latest first."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

from tachograph.console.web.database import Row, TenantDatabase
from tachograph.console.web.queries.runs import PERIODS

PAGE: Final = 50
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What the address asks for."""

    kind: str = ""
    severity: str = ""
    code: str = ""
    agent: str = ""
    period: str = ""
    before: str = ""
    """Moment in microseconds and id of the last row of the page before."""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """Filters of an address."""
        return cls(**{field.name: given.get(field.name, "")[:500] for field in fields(cls)})

    def parameters(self, **changes: str) -> dict[str, str]:
        """As parameters of an address."""
        kept = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in (kept | changes).items() if value}


def violations(database: TenantDatabase, filters: Filters, now: datetime) -> list[Row]:
    """One page and one more."""
    where, parameters = ["tenant_id = {tenant:String}"], dict[str, Any]()
    for column, value in (
        ("kind", filters.kind),
        ("severity", filters.severity),
        ("code", filters.code),
        ("agent_id", filters.agent),
    ):
        if value:
            where.append(f"{column} = {{{column}:String}}")
            parameters[column] = value
    if period := PERIODS.get(filters.period):
        where.append("occurred_at >= {since:DateTime64(6, 'UTC')}")
        parameters["since"] = now - period
    moment, _, last = filters.before.partition("-")
    if moment.isdecimal() and len(moment) <= 17:  # noqa: PLR2004 - as in the list of runs
        where.append("(occurred_at, violation_id) < ({at:DateTime64(6, 'UTC')}, {last:String})")
        parameters |= {"at": _EPOCH + timedelta(microseconds=int(moment)), "last": last}
    return database.ask(
        f"""
SELECT violation_id, occurred_at, kind, severity, code, agent_id, run_id, message, verdict, action, constraint_id
FROM violations WHERE {" AND ".join(where)}
ORDER BY occurred_at DESC, violation_id DESC
LIMIT 1 BY violation_id
LIMIT {PAGE + 1}
""",  # noqa: S608 - every piece is ours; values are bound
        **parameters,
    )


def cursor(row: Row) -> str:
    """Where the page after this row begins."""
    return f"{(row['occurred_at'] - _EPOCH) // timedelta(microseconds=1)}-{row['violation_id']}"


def counts(database: TenantDatabase, now: datetime) -> list[Row]:
    """Violations of the last day by kind and severity."""
    return database.ask(
        "SELECT kind, severity, uniqExact(violation_id) AS count FROM violations WHERE tenant_id = {tenant:String} "
        "AND occurred_at >= {since:DateTime64(6, 'UTC')} GROUP BY kind, severity ORDER BY kind, severity",
        since=now - timedelta(days=1),
    )


def codes(database: TenantDatabase) -> list[str]:
    """Codes that there are."""
    rows = database.ask(
        "SELECT DISTINCT toString(code) AS code FROM violations WHERE tenant_id = {tenant:String} "
        "ORDER BY code LIMIT 200"
    )
    return [row["code"] for row in rows]
