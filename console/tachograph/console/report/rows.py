"""Reads everything that landed of one run. The only part of the report that asks a database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from tachograph.console.database import Reader

Row = Mapping[str, Any]

RUN_SQL: Final = "SELECT * FROM runs WHERE tenant_id = {tenant:String} AND run_id = {run:String}"

CONSTRAINTS_SQL: Final = """
SELECT constraints FROM agent_runs
WHERE tenant_id = {tenant:String} AND run_id = {run:String} AND event_type = 'run_started'
ORDER BY received_at, _offset LIMIT 1
"""

CHECKPOINTS_SQL: Final = """
SELECT log_id, max(tree_size) AS tree_size FROM checkpoints
WHERE tenant_id = {tenant:String} AND log_id IN {logs:Array(String)} GROUP BY log_id
"""

PRICES_SQL: Final = """
SELECT provider, model,
    (argMax(tuple(input_usd_per_mtok, output_usd_per_mtok), (effective_from, loaded_at)) AS price).1, price.2
FROM model_prices WHERE model IN {models:Array(String)} AND effective_from <= toDateTime({at:Int64}, 'UTC')
GROUP BY provider, model
"""

_BY_SEQ: Final = "seq, event_id, _partition, _offset"
_ORDERS: Final = {
    "steps": "first_seq, step_id",
    "decision_events": _BY_SEQ,
    "evaluations": _BY_SEQ,
    "tool_calls": f"ifNull(started_at, ifNull(requested_at, occurred_at)), {_BY_SEQ}",
    "agent_decisions": _BY_SEQ,
    "agent_quality_signals": _BY_SEQ,
    "context_manifests": _BY_SEQ,
    "context_items": "seq, manifest_id, position",
    "agent_failures": _BY_SEQ,
    "snapshots": "occurred_at, snapshot_id, _partition, _offset",
    "violations": "occurred_at, code, violation_id",
    "record_proposals": _BY_SEQ,
    "decision_records": "sealed_at, log_id, log_seq",
}
"""What is read, and in which order: the order of the record, so that a report of the same rows is the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRows:
    """Rows of one run, as they landed."""

    run: Row
    constraints: Sequence[Row] = ()
    steps: Sequence[Row] = ()
    decision_events: Sequence[Row] = ()
    evaluations: Sequence[Row] = ()
    tool_calls: Sequence[Row] = ()
    agent_decisions: Sequence[Row] = ()
    agent_quality_signals: Sequence[Row] = ()
    context_manifests: Sequence[Row] = ()
    context_items: Sequence[Row] = ()
    agent_failures: Sequence[Row] = ()
    snapshots: Sequence[Row] = ()
    violations: Sequence[Row] = ()
    record_proposals: Sequence[Row] = ()
    decision_records: Sequence[Row] = ()
    checkpoints: Mapping[str, int]
    """Size of the latest signed head, by log."""
    prices: Mapping[tuple[str, str], tuple[Decimal | None, Decimal | None]] = field(default_factory=dict)
    """Dollars for a million tokens sent and received when the run began, by provider and model."""


def read_rows(database: Reader, tenant_id: str, run_id: str) -> RunRows:
    """Everything about a run that exists; see ``find_run`` for the one that is meant."""
    about = {"tenant": tenant_id, "run": run_id}
    (run,) = _dicts(database, RUN_SQL, about)
    constraints = database.rows(CONSTRAINTS_SQL, about)
    found = {
        # The names are those of our own tables.
        table: _dicts(
            database,
            f"SELECT * FROM {table} WHERE tenant_id = {{tenant:String}} AND run_id = {{run:String}} ORDER BY {order}",  # noqa: S608
            about,
        )
        for table, order in _ORDERS.items()
    }
    logs = sorted({row["log_id"] for row in found["decision_records"]})
    heads = database.rows(CHECKPOINTS_SQL, {"tenant": tenant_id, "logs": logs}) if logs else ()
    models = sorted({row["model"] for row in found["decision_events"] if row["model"]})
    began = {"models": models, "at": int((run["started_at"] or run["first_seen_at"]).timestamp())}
    prices = database.rows(PRICES_SQL, began) if models else ()
    return RunRows(
        run=run,
        prices={(provider, model): (sent, received) for provider, model, sent, received in prices},
        constraints=constraints[0][0] if constraints else (),
        checkpoints={log_id: size for log_id, size in heads},  # noqa: C416 - rows are sequences of any length
        **found,
    )


def _dicts(database: Reader, sql: str, parameters: Mapping[str, Any]) -> list[Row]:
    columns, rows = database.table(sql, parameters)
    return [dict(zip(columns, row, strict=True)) for row in rows]
