"""The pipeline itself: how far behind it is, what it could not take, what is missing, and what is not sealed.

What processes say of themselves comes from Prometheus; what landed comes from ClickHouse.
"""

from typing import Final

from tachograph.deploy.grafana.dashboard import Dashboard, Section
from tachograph.deploy.grafana.panel import Column, Panel
from tachograph.deploy.grafana.processes import processes
from tachograph.deploy.grafana.variables import CONSOLE, IS_TENANT, TENANT, TO_RUN
from tachograph.schemas.tables import TABLES

_LETTERS: Final = "dead_letters WHERE tenant_id IN (${tenant:sqlstring}, '') AND $__timeFilter(occurred_at)"
"""A letter that names no tenant is shown to all: bytes that do not decode belong to nobody."""


def pipeline() -> Dashboard:
    """The dashboard of the pipeline."""
    return Dashboard(
        name="pipeline",
        title="Tachograph: pipeline health",
        says="Lag, dead letters, landed rows, snapshots and sealing.",
        variables=(TENANT, CONSOLE),
        since="now-6h",
        sections=(
            Section("Processes (Prometheus)", processes()),
            Section("What landed", _landed()),
            Section("What could not be taken, and what is missing", _missing()),
            Section("Snapshots and sealing", _kept()),
        ),
    )


def _landed() -> list[Panel]:
    counted = "\nUNION ALL\n".join(
        f"SELECT '{table.name}' AS table, count() AS rows, max(_ingested_at) AS last_landed FROM {table.name} "
        f"WHERE {IS_TENANT} AND $__timeFilter(_ingested_at)"
        for table in TABLES
    )
    delays = "\n    UNION ALL\n    ".join(
        f"SELECT _ingested_at, dateDiff('millisecond', received_at, _ingested_at) AS delay_ms FROM {table} "
        f"WHERE {IS_TENANT} AND $__timeFilter(_ingested_at)"
        for table in ("agent_runs", "decision_events", "tool_calls")
    )
    return [
        Panel(
            title="From the broker to the table",
            says="How long a record takes from the broker to being readable. A call waits for its result; that counts.",
            kind="timeseries",
            unit="ms",
            steps=((10_000, "orange"), (60_000, "red")),
            width=12,
            sql=f"""\
SELECT $__timeInterval(_ingested_at) AS time, quantile(0.5)(delay_ms) AS p50, quantile(0.95)(delay_ms) AS p95
FROM
(
    {delays}
)
GROUP BY time
ORDER BY time""",
        ),
        Panel(
            title="Rows by table",
            says="Rows that landed in the time range, and when the last one did.",
            kind="table",
            width=12,
            sql=f"SELECT * FROM\n(\n{counted}\n)\nWHERE rows > 0\nORDER BY rows DESC, table",
        ),
    ]


def _missing() -> list[Panel]:
    return [
        Panel(
            title="Dead letters",
            says="By stage and class of error, those that name no tenant included.",
            kind="timeseries",
            bars=True,
            stacked=True,
            sql=f"""\
SELECT
    $__timeInterval(occurred_at) AS time,
    concat(stage, ': ', error_type) AS error,
    uniqExact(dead_letter_id) AS letters
FROM {_LETTERS}
GROUP BY time, error
ORDER BY time, error""",
        ),
        Panel(
            title="Latest dead letters",
            says="Where each stands in Kafka. The web console shows what was wrong with it, and sends it again.",
            kind="table",
            width=16,
            columns={"bytes": Column(unit="bytes")},
            sql=f"""\
SELECT
    occurred_at AS at,
    source_topic,
    source_partition,
    source_offset,
    stage,
    component,
    error_type,
    size_bytes AS bytes
FROM {_LETTERS}
ORDER BY at DESC
LIMIT 1 BY dead_letter_id, stage
LIMIT 50""",
        ),
        Panel(
            title="What runs are missing",
            says="Runs that are not whole, by what they miss; numbers are written as N.",
            kind="bargauge",
            steps=((1, "orange"),),
            sql=f"""\
SELECT replaceRegexpAll(arrayJoin(missing), '[0-9]+', 'N') AS what, uniqExact(run_id) AS runs
FROM agent_runs
WHERE {IS_TENANT} AND $__timeFilter(occurred_at) AND completeness = 'incomplete'
GROUP BY what
ORDER BY runs DESC, what
LIMIT 20""",
        ),
        Panel(
            title="What recorders lost",
            says="Records that agents say they dropped, and why.",
            kind="table",
            sql=f"""\
SELECT agent_id, drop_reason, sum(dropped) AS records, uniqExact(run_id) AS runs, max(occurred_at) AS last_seen
FROM agent_failures
WHERE {IS_TENANT} AND $__timeFilter(occurred_at) AND kind = 'events_dropped'
GROUP BY agent_id, drop_reason
ORDER BY records DESC, agent_id""",
        ),
        Panel(
            title="Observability and integrity",
            says="Violations of these two kinds: gaps, missing results, orphans, forks, bytes that are gone.",
            kind="bargauge",
            steps=((1, "orange"), (10, "red")),
            sql=f"""\
SELECT toString(code) AS code, uniqExact(violation_id) AS violations
FROM violations
WHERE {IS_TENANT} AND $__timeFilter(occurred_at) AND kind IN ('observability', 'integrity')
GROUP BY code
ORDER BY violations DESC, code
LIMIT 20""",
        ),
    ]


def _kept() -> list[Panel]:
    proposed = f"record_proposals WHERE {IS_TENANT} AND $__timeFilter(occurred_at)"
    sealed = f"decision_records WHERE {IS_TENANT}"
    return [
        Panel(
            title="Snapshots",
            says="What faults asked for, by whether it is stored, missing, or removed by retention.",
            kind="timeseries",
            bars=True,
            stacked=True,
            sql=f"""\
SELECT
    $__timeInterval(occurred_at) AS time,
    multiIf(isNotNull(deleted_at), 'removed', stored, 'stored', 'missing') AS state,
    count() AS snapshots
FROM snapshot_pointers
WHERE {IS_TENANT} AND $__timeFilter(occurred_at)
GROUP BY time, state
ORDER BY time, state""",
        ),
        Panel(
            title="Missing snapshots",
            says="Which runs miss what a fault captured, and what had triggered it.",
            kind="table",
            columns={"run_id": TO_RUN},
            sql=f"""\
SELECT occurred_at AS at, run_id, kind, trigger, toString(snapshot_id) AS snapshot
FROM snapshot_pointers
WHERE {IS_TENANT} AND $__timeFilter(occurred_at) AND NOT stored AND isNull(deleted_at)
ORDER BY at DESC, snapshot
LIMIT 50""",
        ),
        Panel(
            title="Records",
            says="Sealed records by the status they got.",
            kind="timeseries",
            bars=True,
            stacked=True,
            sql=f"""\
SELECT $__timeInterval(sealed_at) AS time, toString(status) AS status, uniqExact(record_id) AS records
FROM {sealed} AND $__timeFilter(sealed_at)
GROUP BY time, status
ORDER BY time, status""",
        ),
        Panel(
            title="Not sealed",
            says="Proposals of the time range that no sealed record answers. If it stays: look at the sealer.",
            kind="stat",
            steps=((1, "orange"), (100, "red")),
            width=4,
            sql=f"""\
SELECT uniqExact(record_id) AS proposals
FROM {proposed} AND record_id NOT IN (SELECT record_id FROM {sealed})""",
        ),
        Panel(
            title="Rejected and deferred",
            says="Rules that kept records from the status they were proposed with.",
            kind="table",
            width=10,
            sql=f"""\
SELECT decision_key, status, rule.code AS code, uniqExact(record_id) AS records, max(sealed_at) AS last_sealed
FROM
(
    SELECT decision_key, status, record_id, sealed_at, arrayFilter(each -> NOT each.passed, verdicts) AS failed
    FROM {sealed} AND $__timeFilter(sealed_at) AND status != proposed_status
)
ARRAY JOIN failed AS rule
GROUP BY decision_key, status, code
ORDER BY records DESC, decision_key, code
LIMIT 50""",
        ),
        Panel(
            title="Logs",
            says="How long each log is, and how much of it the latest checkpoint covers.",
            kind="table",
            width=10,
            columns={"uncovered": Column(steps=((1, "orange"), (1000, "red")))},
            sql=f"""\
SELECT
    log.log_id AS log,
    log.size AS records,
    log.size - point.covered AS uncovered,
    log.last_sealed AS last_sealed,
    point.last_checkpoint AS last_checkpoint
FROM
(
    SELECT log_id, max(log_seq) + 1 AS size, max(sealed_at) AS last_sealed
    FROM {sealed}
    GROUP BY log_id
) AS log
LEFT JOIN
(
    SELECT log_id, max(tree_size) AS covered, max(occurred_at) AS last_checkpoint
    FROM checkpoints
    WHERE {IS_TENANT}
    GROUP BY log_id
) AS point ON point.log_id = log.log_id
ORDER BY log""",
        ),
    ]
