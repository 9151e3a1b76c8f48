"""Agents and what they did in a period, summed up. Sums and counts; nothing is ranked."""

from datetime import datetime
from typing import Final

from tachograph.console.web.database import Row, TenantDatabase

MOST: Final = 200
_WRITTEN: Final = "(change.received_at, change._offset)"


def agents(database: TenantDatabase, since: datetime) -> list[Row]:
    """One row per agent."""
    runs, broken, decided = database.together(
        lambda: database.ask(_RUNS, since=since),
        lambda: database.ask(_BROKEN, since=since),
        lambda: database.ask(_DECIDED, since=since),
    )
    violations = {row["agent_id"]: row for row in broken}
    decisions = {row["agent_id"]: row["decisions"] for row in decided}
    return [
        row
        | {
            "violations": violations.get(row["agent_id"], {}).get("violations", 0),
            "severe": violations.get(row["agent_id"], {}).get("severe", 0),
            "decisions": decisions.get(row["agent_id"], 0),
        }
        for row in runs
    ]


_RUNS: Final = f"""
SELECT agent_id, count() AS runs, countIf(status = 'succeeded') AS succeeded,
    countIf(status IN ('failed', 'aborted', 'SYSTEM_ERROR')) AS unfinished, countIf(status = 'running') AS running,
    countIf(completeness = 'incomplete') AS incomplete, sum(input_tokens) AS input_tokens,
    sum(output_tokens) AS output_tokens, sum(calls) AS tool_calls, quantileIf(0.5)(duration, duration > 0) AS p50,
    quantileIf(0.95)(duration, duration > 0) AS p95, max(last) AS last_seen,
    arraySort(groupUniqArray(5)(version)) AS versions
FROM (
    SELECT run_id, argMaxIf(change.agent_id, {_WRITTEN}, change.agent_id != '') AS agent_id,
        argMaxIf(change.status, {_WRITTEN}, change.status != '') AS status,
        argMaxIf(change.completeness, {_WRITTEN}, change.completeness != '') AS completeness,
        argMaxIf(toString(change.agent_version), {_WRITTEN}, change.agent_version != '') AS version,
        max(ifNull(change.input_tokens, 0)) AS input_tokens, max(ifNull(change.output_tokens, 0)) AS output_tokens,
        max(ifNull(change.tool_calls, 0)) AS calls, max(ifNull(change.duration_ms, 0)) AS duration,
        max(change.occurred_at) AS last
    FROM agent_runs AS change
    WHERE tenant_id = {{tenant:String}} AND occurred_at >= {{since:DateTime64(6, 'UTC')}}
    GROUP BY run_id
)
GROUP BY agent_id ORDER BY agent_id LIMIT {MOST}
"""  # noqa: S608 - ours

_BROKEN: Final = """
SELECT agent_id, uniqExact(violation_id) AS violations,
    uniqExactIf(violation_id, severity IN ('error', 'critical')) AS severe
FROM violations
WHERE tenant_id = {tenant:String} AND occurred_at >= {since:DateTime64(6, 'UTC')} GROUP BY agent_id
"""

_DECIDED: Final = """
SELECT agent_id, count() AS decisions FROM agent_decisions
WHERE tenant_id = {tenant:String} AND occurred_at >= {since:DateTime64(6, 'UTC')} GROUP BY agent_id
"""
