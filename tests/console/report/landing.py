"""From recorded messages to the rows of a report, through the worker's real core and without a server."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tachograph.console.report.rows import RunRows
from tachograph.processors.core import Incoming
from tachograph.processors.digests import digest
from tachograph.processors.state import RunState
from tachograph.producers.testing import KeptRecord
from tachograph.schemas import tables
from tachograph.schemas.tables.kinds import MAYBE_TIME, TIME
from tests.processors.records import JUDGING, landed

BROKER_DELAY = 400_000_000
"""Microseconds between a record and its arrival."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES = {
    table.name: {column.name for column in table.columns if column.kind in (TIME, MAYBE_TIME)}
    for table in tables.TABLES
}


def rows_of(records: Iterable[KeptRecord]) -> RunRows:
    """Rows of one run, as ClickHouse would hand them out."""
    state, found = RunState(), defaultdict(list)
    for offset, kept in enumerate(records):
        at = kept.record["occurred_at"] + BROKER_DELAY
        incoming = Incoming(kept.type, kept.record, 0, offset, at, digest(repr(kept.record).encode()))
        for schema, row in landed(JUDGING(state, incoming)):
            table = schema.removeprefix("rows.")
            found[table].append(_times(table, row) | {"_partition": 0, "_offset": offset})
    return assembled(found)


def assembled(found: Mapping[str, list[dict[str, Any]]]) -> RunRows:
    """Rows by table, and what the views make of them."""
    runs, steps = found.get("agent_runs", []), found.get("agent_steps", [])
    by_step: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in steps:
        by_step[row["step_id"]].append(row)
    whole: dict[str, Any] = {
        name: found.get(name, [])
        for name in (
            "decision_events",
            "evaluations",
            "tool_calls",
            "agent_decisions",
            "agent_quality_signals",
            "context_manifests",
            "context_items",
            "agent_failures",
            "snapshots",
            "violations",
            "record_proposals",
            "decision_records",
        )
    }
    return RunRows(
        run=_latest(runs) | {"received": max(row["received"] for row in runs)},
        constraints=next((row["constraints"] for row in runs if row["event_type"] == "run_started"), ()),
        steps=[_latest(rows) | {"first_seq": rows[0]["seq"]} for rows in by_step.values()],
        checkpoints={},
        **whole,
    )


def _latest(changes: list[dict[str, Any]]) -> dict[str, Any]:
    """One row of changes, as the views make it: the latest known value of each column."""
    row: dict[str, Any] = {}
    for change in changes:
        row |= {name: value for name, value in change.items() if name not in row or value not in (None, "")}
    seen = [change["occurred_at"] for change in changes]
    return row | {"first_seen_at": min(seen), "last_seen_at": max(seen)}


def _times(table: str, row: dict[str, Any]) -> dict[str, Any]:
    return {name: _time(value) if name in _TIMES[table] else _nested(value) for name, value in row.items()}


def _nested(value: Any) -> Any:
    if isinstance(value, list):
        return [_nested(item) for item in value]
    if isinstance(value, dict):
        return {name: _time(item) if name == "decided_at" else item for name, item in value.items()}
    return value


def _time(value: Any) -> Any:
    return _EPOCH + timedelta(microseconds=value) if isinstance(value, int) else value
