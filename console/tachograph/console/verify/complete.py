"""Whether anything is missing: what the producer counted, what Kafka holds, what ClickHouse holds, what was sealed.

Pure: takes what was read from each, and names every record or row that one has and another has not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tachograph.console.replay.run import rerun
from tachograph.processors.core import Incoming

TABLES: Final = (
    "agent_runs",
    "agent_steps",
    "agent_decisions",
    "agent_quality_signals",
    "agent_failures",
    "decision_events",
    "tool_calls",
    "context_manifests",
    "context_items",
    "record_proposals",
)
"""Tables whose rows are functions of a run's events alone."""

_KEY: Final = ("event_id", "tool_use_id", "leg", "position", "event_type")

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that should be somewhere and is not."""

    where: str
    """``kafka``, ``clickhouse`` or ``sealed``."""
    what: str
    """Record or row, by type or table, place and id."""
    run_id: str

    def as_json(self) -> dict[str, str]:
        """For a pipe."""
        return {"where": self.where, "what": self.what, "run_id": self.run_id}


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The account of one run."""

    run_id: str
    counted: int | None
    """Records the producer says it emitted; None if the run has no end yet."""
    dropped: int
    """Records it says it lost. They have no number, and are not missing: they are known to be lost."""
    in_kafka: int | None
    """None if Kafka no longer holds the run's beginning."""
    in_clickhouse: int
    """Distinct records that rows were made of."""
    sealed: int
    missing: tuple[Missing, ...]

    def as_json(self) -> dict[str, Any]:
        """For a pipe."""
        return {
            "run_id": self.run_id,
            "counted": self.counted,
            "dropped": self.dropped,
            "kafka": self.in_kafka,
            "clickhouse": self.in_clickhouse,
            "sealed": self.sealed,
            "missing": [item.as_json() for item in self.missing],
        }


def reconcile(run_id: str, events: Sequence[Incoming], stored: Rows, sealed: set[str], refused: set[int]) -> Reconciled:
    """Account for a run. ``sealed``: event ids of proposals with a record. ``refused``: offsets in the dead letters."""
    landed = _event_ids(stored)
    ends = [row for row in stored["agent_runs"] if row["event_type"] == "run_ended"]
    end = next((item.record for item in events if item.name == "RunEnded"), ends[0] if ends else None)
    counted, dropped = (None, 0) if end is None else (end["emitted"], end["dropped"] or 0)
    missing: list[Missing] = []
    if events:
        missing += _gaps(run_id, events, counted)
        missing += _rows(run_id, events, stored, refused)
    elif counted is not None and len(landed) < counted:
        missing.append(
            Missing("clickhouse", f"{counted - len(landed)} records, no longer in Kafka to be named", run_id)
        )
    proposals = {item.record["event_id"]: item for item in events if item.name == "RecordProposal"}
    known = proposals.keys() | {row["event_id"] for row in stored["record_proposals"]}
    for event_id in sorted(known - sealed):
        if event_id in proposals and proposals[event_id].offset in refused:
            continue
        missing.append(Missing("sealed", f"record of proposal {event_id}", run_id))
    in_kafka = len({item.record["event_id"] for item in events}) if events else None
    return Reconciled(run_id, counted, dropped, in_kafka, len(landed), len(known & sealed), tuple(missing))


def _gaps(run_id: str, events: Sequence[Incoming], counted: int | None) -> list[Missing]:
    there = {item.record["seq"] for item in events}
    most = counted if counted is not None else max(there) + 1
    return [Missing("kafka", f"record {seq} of the run", run_id) for seq in range(most) if seq not in there]


def _rows(run_id: str, events: Sequence[Incoming], stored: Rows, refused: set[int]) -> list[Missing]:
    """Rows that the worker makes of these events, and that no table has."""
    made = rerun((item for item in events if item.offset not in refused), TABLES)
    missing = []
    for table in TABLES:
        there = {_key(row) for row in stored[table]}
        for row in made[table]:
            if _key(row) not in there:
                place = "/".join(part for part in _key(row) if part)
                missing.append(Missing("clickhouse", f"row of {table}: {place}", run_id))
    return missing


def _event_ids(stored: Rows) -> set[str]:
    """Records that the stored rows were made of."""
    found = {row["event_id"] for table in TABLES for row in stored[table] if table != "tool_calls"}
    for row in stored["tool_calls"]:
        found.update(row["event_ids"] or [row["event_id"]])
    return found - {""}


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row.get(name, "")) for name in _KEY)
