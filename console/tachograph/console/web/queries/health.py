"""How the pipeline does for one tenant: what arrived whole, what did not, and what became a dead letter."""

from datetime import datetime
from typing import Any, Final

from tachograph.console.web.database import Row, TenantDatabase

LETTERS: Final = 50

_OURS: Final = "tenant_id IN ({tenant:String}, {nobody:String})"
"""Letters that name no tenant are shown to the tenant that records belong to when a producer names none."""


def nobody(tenant_id: str, default_tenant: str) -> str:
    """The second name whose letters a tenant sees: the empty one for the default tenant, else its own again."""
    return "" if tenant_id == default_tenant else tenant_id


def completeness(database: TenantDatabase, since: datetime) -> dict[str, Any]:
    """Runs of the period by completeness, and what recorders lost."""
    row = database.one(
        """
SELECT count() AS runs, countIf(state = 'complete') AS complete, countIf(state = 'incomplete') AS incomplete,
    countIf(state = 'open') AS open, sum(lost) AS dropped, sum(again) AS repeats, sum(seen) AS records
FROM (
    SELECT run_id, argMaxIf(completeness, (received_at, _offset), completeness != '') AS state,
        max(ifNull(dropped, 0)) AS lost, max(ifNull(repeats, 0)) AS again, max(received) AS seen
    FROM agent_runs WHERE tenant_id = {tenant:String} AND occurred_at >= {since:DateTime64(6, 'UTC')}
    GROUP BY run_id
)
""",
        since=since,
    )
    return row or {}


def last_landed(database: TenantDatabase) -> Row | None:
    """When a row last became readable, and how long it took from the broker."""
    return database.one(
        "SELECT max(_ingested_at) AS landed, quantile(0.95)(dateDiff('millisecond', received_at, _ingested_at)) AS p95 "
        "FROM agent_runs WHERE tenant_id = {tenant:String} AND _ingested_at >= now() - INTERVAL 1 DAY"
    )


def letters(database: TenantDatabase, default_tenant: str) -> list[Row]:
    """Dead letters, latest first."""
    return database.ask(
        f"SELECT dead_letter_id, source_topic, source_partition, source_offset, stage, component, error_type, error, "  # noqa: S608 - ours
        f"size_bytes, occurred_at, _ingested_at FROM dead_letters WHERE {_OURS} "
        f"ORDER BY _ingested_at DESC LIMIT 1 BY dead_letter_id, stage LIMIT {LETTERS + 1}",
        nobody=nobody(database.tenant_id, default_tenant),
    )


def letter(database: TenantDatabase, default_tenant: str, letter_id: str) -> Row | None:
    """One dead letter with its place in the dead-letter topic."""
    return database.one(
        f"SELECT * FROM dead_letters WHERE {_OURS} AND dead_letter_id = {{id:String}} "  # noqa: S608 - ours
        "ORDER BY _ingested_at DESC LIMIT 1",
        nobody=nobody(database.tenant_id, default_tenant),
        id=letter_id,
    )
