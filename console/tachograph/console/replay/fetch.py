"""Brings together, from the stores, everything that the records of a run are replayed from."""

from collections.abc import Mapping
from typing import Any, Final

from tachograph.console.database import Reader
from tachograph.console.replay.packet import Observed, Packet
from tachograph.console.rows import Row, rows
from tachograph.processors.catalog import Catalog, load_catalog
from tachograph.processors.catalog.shipped import decisions_folder
from tachograph.processors.sealing.key_set import key_set_of, read_key_set
from tachograph.schemas.canonical import strict_loads
from tachograph.schemas.errors import TachographError
from tachograph.schemas.proofs.keys import KeySet
from tachograph.schemas.proofs.sealed import SealedRecord
from tachograph.schemas.settings import Settings
from tachograph.schemas.transcripts import Entry, call_entry, content_name, manifest_entry, prompt_entry

_BY_TRACE: Final = "SELECT * FROM {table} FINAL WHERE tenant_id = {{tenant:String}} AND trace_id = {{trace:String}}"
_RECORDS: Final = """
SELECT * FROM decision_records FINAL
WHERE tenant_id = {tenant:String} AND (record_id = {name:String} OR run_id = {name:String})
ORDER BY log_id, log_seq
"""
_BEFORE: Final = """
SELECT body, record_hash, signature FROM decision_records FINAL
WHERE tenant_id = {tenant:String} AND log_id = {log:String} AND log_seq = {seq:Int64}
"""
_MICROSECOND: Final = 1_000_000


class NothingToReplayError(TachographError):
    """No record and no run of that name."""


class Stores:
    """Where the inputs are: ClickHouse for what was recorded, the catalog's folder, the key set's file."""

    def __init__(self, database: Reader, settings: Settings, tenant_id: str) -> None:
        self._database = database
        self._tenant = tenant_id
        self._silence_us = int(settings.sealer.run_silence_s * _MICROSECOND)
        self.catalog: Catalog = load_catalog(settings.sealer.catalog or decisions_folder())
        self.keys: KeySet = read_key_set(key_set_of(settings))

    def records(self, name: str) -> list[Row]:
        """Rows of a record, or of all records of a run."""
        return rows(self._database, _RECORDS, tenant=self._tenant, name=name)

    def packets(self, name: str) -> list[Packet]:
        """A packet for each record of that name or run."""
        return [self._packet(stored) for stored in self.records(name)]

    def trace(self, table: str, trace_id: str) -> list[Row]:
        """Rows of one trace."""
        return rows(self._database, _BY_TRACE.format(table=table), tenant=self._tenant, trace=trace_id)

    def _packet(self, stored: Row) -> Packet:
        trace, run = stored["trace_id"], stored["run_id"]
        calls, events = self.trace("tool_calls", trace), self.trace("decision_events", trace)
        manifests, items = self.trace("context_manifests", trace), self.trace("context_items", trace)
        starts = [row for row in self.trace("agent_runs", trace) if row["event_type"] == "run_started"]
        proposals = self.trace("record_proposals", trace)
        earlier = [row for row in self.records(run) if row["log_id"] == stored["log_id"]] if run else []
        return Packet(
            record=_sealed(stored),
            stored=stored,
            previous=self._previous(stored),
            proposal=next((row for row in proposals if row["event_id"] == stored["event_id"]), None),
            has_run_context=any(row["run_id"] == run for row in starts),
            observed=_observed(stored, starts, calls, events, items),
            earlier=[_content(row) for row in earlier if row["log_seq"] < stored["log_seq"]],
            calls=[_call(row) for row in calls if row["run_id"] == run and _ended(row) <= stored["occurred_at"]],
            contexts=_contexts(stored, events, manifests),
            catalog=self.catalog,
            keys=self.keys,
            silence_us=self._silence_us,
        )

    def _previous(self, stored: Row) -> SealedRecord | None:
        wanted: dict[str, Any] = {"log": stored["log_id"], "seq": stored["log_seq"] - 1}
        found = rows(self._database, _BEFORE, tenant=self._tenant, **wanted)
        return _sealed(found[0]) if found else None


def _content(row: Mapping[str, Any]) -> dict[str, Any]:
    content = strict_loads(row["body"])
    return content if isinstance(content, dict) else {}


def _sealed(row: Mapping[str, Any]) -> SealedRecord:
    return SealedRecord(row["body"], row["record_hash"], row["signature"])


def _observed(stored: Row, starts: list[Row], calls: list[Row], events: list[Row], items: list[Row]) -> list[Observed]:
    """Records of the trace before the proposal, by the broker's time; within the run, by their place in it."""
    seen = [Observed("RunStarted", row, row["received_at"]) for row in starts if _before(row, stored)]
    seen += [
        Observed("DecisionEvent", row | {"agent_action": {"artifacts": row["artifacts"]}}, row["received_at"])
        for row in events
        if _before(row, stored)
    ]
    seen += [
        Observed("ContextManifest", row | {"included": [row]}, row["received_at"])
        for row in items
        if row["is_included"] and _before(row, stored)
    ]
    for row in calls:
        # A joined call carries the broker's time of its last part, which may have come after the proposal.
        if _ended(row) <= stored["occurred_at"]:
            leg = {"leg": "post", "output_pointer": _pointer(row["output_artifact_id"], stored["evidence_refs"])}
            seen.append(Observed("ToolCallRecord", row | leg, min(row["received_at"], stored["received_at"])))
    return sorted(seen, key=lambda item: item.at)


def _before(row: Row, stored: Row) -> bool:
    if row["run_id"] == stored["run_id"]:
        return bool(row["seq"] < stored["seq"])
    return bool(row["received_at"] <= stored["received_at"])


def _ended(row: Row) -> int:
    """When a call ended by the agent's clock; one that did not has ended after everything."""
    ended: int | None = row["finished_at"]
    return 1 << 62 if ended is None else ended


def _pointer(artifact_id: str | None, references: list[str]) -> dict[str, str] | None:
    """Where the output went. The row has no hash of it: that of a reference to it is as good, for resolving."""
    if artifact_id is None:
        return None
    prefix = f"artifact:{artifact_id}#sha256:"
    named = (reference.removeprefix(prefix) for reference in references if reference.startswith(prefix))
    return {"artifact_id": artifact_id, "hash": next(named, "")}


def _call(row: Row) -> Entry:
    output = row["output"] if row["error_type"] is None else row["error"]
    return call_entry(
        row["tool_use_id"],
        row["tool_name"],
        content_name(row["tool_input"], row["input_artifact_id"]),
        content_name(output, row["output_artifact_id"]),
        row["error_type"],
        skipped=row["skipped"],
    )


def _contexts(stored: Row, events: list[Row], manifests: list[Row]) -> list[Entry]:
    mine = [row for row in events if row["run_id"] == stored["run_id"] and row["seq"] < stored["seq"]]
    entries = [prompt_entry(row["span_id"], row["prompt_bundle_hash"]) for row in mine if row["provider"]]
    entries += [
        manifest_entry(row["manifest_id"], row["prefix_hash"])
        for row in manifests
        if row["run_id"] == stored["run_id"] and row["seq"] < stored["seq"]
    ]
    return entries
