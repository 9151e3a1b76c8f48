"""Rows of a snapshot: where its bytes are, or that they are missing. Pure, and without any clock but the broker's."""

from typing import Any, Final, NamedTuple

from tachograph.processors.snapshots.captures import Capture
from tachograph.processors.snapshots.requests import SnapshotRequest, derived_id
from tachograph.schemas.enums import FaultTrigger, RetentionClass, RunStatus, Severity
from tachograph.schemas.topics import ViolationKind, row_topic, violation_topic
from tachograph.sinks.artifacts import Entry

__all__ = ["MISSING_CODE", "SLOTS", "SnapshotOutput", "missing_outputs", "snapshot_row", "stored_outputs"]

MISSING_CODE: Final = "integrity.snapshot_missing"
"""Code of the violation."""

SLOTS: Final = 3
"""Output indices that a request owns, used or not: what became of one request moves no other's coordinates."""


class SnapshotOutput(NamedTuple):
    """A row for a topic, and which of its request's slots it has."""

    slot: int
    topic: str
    schema: str
    row: dict[str, Any]


def snapshot_row(request: SnapshotRequest) -> dict[str, Any]:
    """The row as it is before anything is known of the bytes."""
    return {
        "tenant_id": request.tenant_id,
        "agent_id": request.agent_id,
        "snapshot_id": request.snapshot_id,
        "trace_id": request.trace_id,
        "run_id": request.run_id,
        "step_id": request.step_id,
        "event_id": request.event_id,
        "tool_use_id": request.tool_use_id,
        "kind": "",
        "trigger": request.trigger,
        "occurred_at": request.occurred_at,
        "stored": False,
        "artifact_id": None,
        "path": None,
        "hash": None,
        "size_bytes": None,
        "created_at": None,
        "capture_partition": None,
        "capture_offset": None,
        "deleted_at": None,
        "retention": RetentionClass.SHORT.value,
    }


def capture_row(request: SnapshotRequest, capture: Capture) -> dict[str, Any]:
    """The row of a capture that was found. The output's own call counts, not the one that failed."""
    return snapshot_row(request) | {
        "kind": capture.first.kind,
        "tool_use_id": capture.first.tool_use_id,
        "created_at": capture.append_time,
        "capture_partition": request.partition,
        "capture_offset": capture.offsets[0],
    }


def stored_outputs(row: dict[str, Any], entry: Entry) -> list[SnapshotOutput]:
    """The bytes are in the store."""
    pointer = {
        "stored": True,
        "artifact_id": entry.artifact_id,
        "path": entry.path,
        "hash": entry.hash,
        "size_bytes": entry.size_bytes,
        "created_at": entry.created_at,
        "deleted_at": entry.deleted_at,
    }
    return [SnapshotOutput(0, row_topic("snapshots"), "rows.snapshots", row | pointer)]


def missing_outputs(request: SnapshotRequest, row: dict[str, Any], why: str) -> list[SnapshotOutput]:
    """The bytes are not in the store: the pointer, the violation that names it, and SYSTEM_ERROR for the run."""
    outputs = [
        SnapshotOutput(0, row_topic("snapshots"), "rows.snapshots", row | {"created_at": None}),
        SnapshotOutput(1, violation_topic(ViolationKind.INTEGRITY), "rows.violations", _violation(request, why)),
    ]
    if not request.is_reported:
        outputs.append(SnapshotOutput(2, row_topic("agent_failures"), "rows.agent_failures", _failure(request)))
    return outputs


def _violation(request: SnapshotRequest, why: str) -> dict[str, Any]:
    return {
        "tenant_id": request.tenant_id,
        "agent_id": request.agent_id,
        "violation_id": derived_id(MISSING_CODE, request.tenant_id, request.run_id, request.pointer),
        "kind": ViolationKind.INTEGRITY.value,
        "code": MISSING_CODE,
        "severity": Severity.CRITICAL.value,
        "message": f"the snapshot of a fault ({request.trigger}) is missing: {why}",
        "evidence": request.pointer,
        "constraint_id": None,
        "verdict": "fail",
        "action": RunStatus.SYSTEM_ERROR.value,
        "trace_id": request.trace_id,
        "run_id": request.run_id,
        "event_id": request.event_id,
        "step_id": request.step_id,
        "tool_use_id": request.tool_use_id,
        "occurred_at": request.occurred_at,
        "sample_event_ids": [],
    }


def _failure(request: SnapshotRequest) -> dict[str, Any]:
    failure_id = derived_id("snapshot failure", request.tenant_id, request.run_id, request.pointer)
    return {
        "tenant_id": request.tenant_id,
        "agent_id": request.agent_id,
        "run_id": request.run_id,
        "trace_id": request.trace_id,
        "event_id": request.event_id or failure_id,
        "seq": request.seq,
        "occurred_at": request.occurred_at,
        "received_at": request.append_time,
        "failure_id": failure_id,
        "kind": "agent_failure",
        "step_id": request.step_id,
        "span_id": None,
        "error_type": "SnapshotMissing",
        "message": "",
        "trigger": FaultTrigger.SYSTEM_ERROR.value,
        "tool_use_id": request.tool_use_id,
        "snapshot_artifact_ids": [],
        "capture_ids": [] if request.capture_id is None else [request.capture_id],
        "missing_pointer": request.pointer,
        "dropped": 0,
        "drop_reason": "",
        "dropped_types": [],
        "metadata": {},
    }
