"""The list of runs, in two steps: which runs, from a few narrow columns; then all that a row shows, for those only."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

from tachograph.console.web.database import Row, TenantDatabase

PAGE: Final = 50

PERIODS: Final = {
    "1h": timedelta(hours=1),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}

_WRITTEN: Final = "(received_at, _offset)"
_STARTED: Final = "ifNull(min(started_at), min(occurred_at))"
_SEARCHED: Final = (
    "run_id",
    "agent_id",
    "session_id",
    "request_id",
    "error_type",
    "repo",
    "branch",
    "ticket_id",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What the address asks for. Every field is a parameter of it, so a filter can be kept as a bookmark."""

    agent: str = ""
    environment: str = ""
    status: str = ""
    completeness: str = ""
    violation: str = ""
    """A kind, a severity or a code; ``any`` for any."""
    period: str = ""
    q: str = ""
    deep: str = ""
    """Also look into the text of requests: captured content, so it is recorded."""
    before: str = ""
    """Where the page begins: moment in microseconds and run id of the last row before it."""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """Filters of an address; what is not known there is ignored."""
        return cls(**{field.name: given.get(field.name, "")[:500] for field in fields(cls)})

    def parameters(self, **changes: str) -> dict[str, str]:
        """As parameters of an address."""
        kept = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in (kept | changes).items() if value}

    @property
    def narrow(self) -> bool:
        """Whether anything is filtered."""
        return any(getattr(self, field.name) for field in fields(self) if field.name != "before")


def run_ids(database: TenantDatabase, filters: Filters, now: datetime) -> list[Row]:
    """Runs of one page and one more, latest first."""
    where, having, parameters = _conditions(filters, now)
    return database.ask(
        f"""
SELECT run_id, {_STARTED} AS began
FROM agent_runs
WHERE tenant_id = {{tenant:String}} AND {" AND ".join(where)}
GROUP BY run_id
HAVING {" AND ".join(having)}
ORDER BY began DESC, run_id DESC
LIMIT {PAGE + 1}
""",  # noqa: S608 - every piece is ours; values are bound
        **parameters,
    )


def _conditions(filters: Filters, now: datetime) -> tuple[list[str], list[str], dict[str, Any]]:
    where, having, parameters = ["1"], ["1"], dict[str, Any]()
    if filters.agent:
        where.append("agent_id = {agent:String}")
        parameters["agent"] = filters.agent
    for name in ("environment", "status", "completeness"):
        if value := getattr(filters, name):
            having.append(f"argMaxIf({name}, {_WRITTEN}, {name} != '') = {{{name}:String}}")
            parameters[name] = value
    if period := PERIODS.get(filters.period):
        # Rows of a run are not earlier than its start, so whatever began since then has all its rows since then.
        where.append("occurred_at >= {since:DateTime64(6, 'UTC')}")
        having.append(f"{_STARTED} >= {{since:DateTime64(6, 'UTC')}}")
        parameters["since"] = now - period
    if filters.violation:
        matches = "1" if filters.violation == "any" else "{violation:String} IN (kind, severity, code)"
        where.append(
            "run_id IN (SELECT run_id FROM violations "  # noqa: S608 - as above
            f"WHERE tenant_id = {{tenant:String}} AND run_id != '' AND {matches})"
        )
        parameters["violation"] = filters.violation
    if filters.q:
        searched = (*_SEARCHED, "user_request_raw") if filters.deep else _SEARCHED
        found = " OR ".join(
            f"positionCaseInsensitiveUTF8(ifNull(toString({column}), ''), {{q:String}}) > 0" for column in searched
        )
        having.append(f"max({found})")
        parameters["q"] = filters.q
    if cursor := _cursor(filters.before):
        having.append(f"({_STARTED}, run_id) < ({{began:DateTime64(6, 'UTC')}}, {{last:String}})")
        parameters |= {"began": cursor[0], "last": cursor[1]}
    return where, having, parameters


def _cursor(text: str) -> tuple[datetime, str] | None:
    moment, _, run_id = text.partition("-")
    if not moment.isdecimal() or len(moment) > 17:  # noqa: PLR2004 - digits of a year that ClickHouse knows
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(moment)), run_id


def cursor(row: Row) -> str:
    """Where the page after this row begins."""
    since = row["began"] - datetime(1970, 1, 1, tzinfo=UTC)
    return f"{since // timedelta(microseconds=1)}-{row['run_id']}"


def rows(database: TenantDatabase, ids: list[str]) -> dict[str, Row]:
    """What a row of the list shows, by run."""
    shown, broken, sealed = database.together(
        lambda: database.ask(_SHOWN, ids=ids),
        lambda: database.ask(_BROKEN, ids=ids),
        lambda: database.ask(_SEALED, ids=ids),
    )
    found = {row["run_id"]: row | {"violations": {}, "sealed": 0, "proposed": 0} for row in shown}
    for row in broken:
        if row["run_id"] in found:
            found[row["run_id"]]["violations"][row["severity"]] = row["count"]
    for row in sealed:
        if row["run_id"] in found:
            found[row["run_id"]] |= {"sealed": row["sealed"], "proposed": row["proposed"]}
    return found


_SHOWN: Final = """
SELECT run_id, agent_id, agent_version, environment, status, completeness, started_at, first_seen_at, duration_ms,
    received, emitted, tool_calls, input_tokens, output_tokens, repo, ticket_id, error_type
FROM runs WHERE tenant_id = {tenant:String} AND run_id IN {ids:Array(String)}
"""

_BROKEN: Final = """
SELECT run_id, severity, uniqExact(violation_id) AS count FROM violations
WHERE tenant_id = {tenant:String} AND run_id IN {ids:Array(String)} GROUP BY run_id, severity
"""

_SEALED: Final = """
SELECT run_id, sum(is_sealed) AS sealed, sum(1 - is_sealed) AS proposed FROM (
    SELECT run_id, record_id, 1 AS is_sealed FROM decision_records
    WHERE tenant_id = {tenant:String} AND run_id IN {ids:Array(String)}
    UNION DISTINCT
    SELECT run_id, record_id, 0 AS is_sealed FROM record_proposals
    WHERE tenant_id = {tenant:String} AND run_id IN {ids:Array(String)}
) GROUP BY run_id
"""


def choices(database: TenantDatabase) -> dict[str, list[str]]:
    """Values that the filters offer."""
    row = database.one(
        """
SELECT arraySort(groupUniqArray(100)(toString(agent_id))) AS agents,
    arraySort(groupUniqArray(20)(toString(environment))) AS environments
FROM agent_runs WHERE tenant_id = {tenant:String}
"""
    )
    codes = database.ask(
        "SELECT DISTINCT toString(code) AS code FROM violations WHERE tenant_id = {tenant:String} "
        "ORDER BY code LIMIT 100"
    )
    found = row or {"agents": [], "environments": []}
    return {
        "agents": [name for name in found["agents"] if name],
        "environments": [name for name in found["environments"] if name],
        "codes": [each["code"] for each in codes],
    }
