"""All there is to replay under one name: the records of a run, or one record; and the run itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tachograph.console.database import Reader
from tachograph.console.replay.events import run_events
from tachograph.console.replay.fetch import NothingToReplayError, Stores
from tachograph.console.replay.judge import SEVERITY, Replayed, replayed
from tachograph.console.replay.run import TABLES, compared, rerun
from tachograph.console.rows import Row, rows
from tachograph.schemas.enums import ReplayStatus
from tachograph.schemas.settings import Settings

_STARTED: Final = """
SELECT * FROM agent_runs FINAL
WHERE tenant_id = {tenant:String} AND run_id = {name:String} AND event_type = 'run_started'
LIMIT 1
"""
_NO_RECORD: Final = {
    "record_id": "",
    "decision_key": "",
    "decision_spec": "",
    "pack_version": "",
    "policy_versions": [],
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was replayed, and what became of it."""

    about: Mapping[str, Any]
    result: Replayed


def replay_all(database: Reader, settings: Settings, tenant_id: str, name: str) -> list[Outcome]:
    """Replay a record; or a run from its events, and then its records."""
    stores = Stores(database, settings, tenant_id)
    outcomes = [Outcome(packet.stored, replayed(packet)) for packet in stores.packets(name)]
    started = rows(database, _STARTED, tenant=tenant_id, name=name)
    if started:
        outcomes.insert(0, Outcome(started[0] | _NO_RECORD, _run(stores, settings, started[0])))
    if not outcomes:
        raise NothingToReplayError(
            f"there is no run and no sealed record {name} of tenant {tenant_id}: `tachograph runs` lists runs"
        )
    return outcomes


def _run(stores: Stores, settings: Settings, started: Row) -> Replayed:
    """The run from what Kafka still holds of it. What is there no longer cannot be compared, and that is said."""
    events = run_events(
        settings,
        partition=started["_partition"],
        trace_id=started["trace_id"],
        run_id=started["run_id"],
        since_us=started["received_at"],
    )
    if not events or events[-1].name != "RunEnded":
        return Replayed(ReplayStatus.EQUAL, (), ("events",))
    stored = {
        table: [row for row in stores.trace(table, started["trace_id"]) if row["run_id"] == started["run_id"]]
        for table in TABLES
    }
    diffs = compared(rerun(events), stored)
    types = {diff.type for diff in diffs}
    return Replayed(next((kind for kind in SEVERITY if kind in types), ReplayStatus.EQUAL), tuple(diffs))
