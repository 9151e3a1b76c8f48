"""A run again from its events: the worker's pure core on what Kafka still holds, against what ClickHouse has of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tachograph.console.replay.packet import Diff
from tachograph.console.replay.values import hash_of, same
from tachograph.processors.core import Incoming, process
from tachograph.processors.state import RunState
from tachograph.schemas.enums import ReplayStatus

TABLES: Final = {
    "tool_calls": ReplayStatus.CHANGED_TOOL_TRANSCRIPT,
    "decision_events": ReplayStatus.CHANGED_COMPILED_CONTEXT,
    "context_manifests": ReplayStatus.CHANGED_COMPILED_CONTEXT,
    "context_items": ReplayStatus.CHANGED_COMPILED_CONTEXT,
    "agent_steps": ReplayStatus.CHANGED_COMPILED_CONTEXT,
    "agent_decisions": ReplayStatus.CHANGED_EVIDENCE,
    "agent_quality_signals": ReplayStatus.CHANGED_SCORECARD,
}
"""Tables whose rows are functions of a run's events alone, and what a difference in them is."""

_KEY: Final = ("event_id", "tool_use_id", "leg", "position", "event_type")
_SNAPSHOTS: Final = frozenset({"prompt_snapshot_artifact_id", "tool_output_snapshot_artifact_ids"})
"""Filled in by others afterwards."""

Rows = dict[str, list[Mapping[str, Any]]]


def rerun(events: Iterable[Incoming], tables: Iterable[str] = tuple(TABLES)) -> Rows:
    """Rows of some tables that the core makes of a run's events."""
    made: Rows = {name: [] for name in tables}
    state = RunState()
    for incoming in events:
        for output in process(state, incoming):
            table = output.schema.removeprefix("rows.")
            if table in made:
                made[table].append(output.row)
    return made


def compared(made: Rows, stored: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Diff]:
    """Every row that is missing, too many or different."""
    diffs = []
    for table, kind in TABLES.items():
        expected = {_key(row): row for row in made[table]}
        found = {_key(row): row for row in stored[table]}
        for key in sorted(expected.keys() | found.keys(), key=repr):
            then, now = expected.get(key), found.get(key)
            place = f"{table} {'/'.join(part for part in key if part)}"
            if then is None or now is None:
                said = ["made" if row is not None else "missing" for row in (then, now)]
                diffs.append(Diff(kind, place, said[0], said[1]))
                continue
            both = [name for name in then if name in now and name not in _SNAPSHOTS]
            changed = [name for name in both if not same(then[name], now[name])]
            diffs += [Diff(kind, f"{place} {name}", hash_of(then[name]), hash_of(now[name])) for name in changed]
    return diffs


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row.get(name, "")) for name in _KEY)
