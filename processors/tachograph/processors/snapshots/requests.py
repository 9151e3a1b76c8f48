"""What is to be kept: from a failure record, or from a sampled prompt. Pure; the same input gives the same requests."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tachograph.processors.snapshots.captures import CapturePart
from tachograph.schemas.enums import FaultTrigger

__all__ = ["CAPTURE_POINTER", "SnapshotRequest", "derived_id", "kept", "of_failure", "of_sample"]

CAPTURE_POINTER: Final = "capture:"
"""What a pointer to a capture begins with."""

_FAULTS: Final = frozenset(trigger.value for trigger in FaultTrigger) - {FaultTrigger.SAMPLED.value}
_EVERY_AGENT: Final = "*"
_ID_DIGITS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRequest:
    """One capture that is to become an artifact, or that is known to be lost already."""

    snapshot_id: str
    tenant_id: str
    agent_id: str
    trace_id: str
    run_id: str
    step_id: str | None
    event_id: str | None
    tool_use_id: str | None
    """Call that failed. A stored snapshot names the call whose output it is instead."""
    trigger: str
    capture_id: str | None
    """None where the recorder itself says that the bytes are lost."""
    pointer: str
    """What is missing if it cannot be stored."""
    seq: int
    occurred_at: int
    partition: int
    append_time: int
    """When the broker had the record that asks."""
    is_reported: bool = False
    """The agent's own SYSTEM_ERROR is on record: the stream adds none."""


def of_failure(record: Mapping[str, Any], partition: int, append_time: int) -> list[SnapshotRequest]:
    """Requests of an AgentFailure: one for each capture it names, and one for a capture its recorder lost.

    A SYSTEM_ERROR that follows a lost capture repeats its pointer; it is asked for once, where it was lost.
    """
    trigger = record["trigger"]
    if trigger not in _FAULTS:
        return []
    wanted: list[tuple[str | None, str]] = [(item, f"{CAPTURE_POINTER}{item}") for item in record["capture_ids"]]
    lost = record["missing_pointer"] or ""
    if lost.startswith(CAPTURE_POINTER) and trigger != FaultTrigger.SYSTEM_ERROR.value:
        wanted.append((None, lost))
    run_id = record["run_id"] or ""
    return [
        SnapshotRequest(
            snapshot_id=derived_id("snapshot", record["tenant_id"], run_id, pointer),
            tenant_id=record["tenant_id"],
            agent_id=record["agent_id"],
            trace_id=record["trace_id"] or "",
            run_id=run_id,
            step_id=record["step_id"],
            event_id=record["event_id"],
            tool_use_id=record["tool_use_id"],
            trigger=trigger,
            capture_id=capture_id,
            pointer=pointer,
            seq=record["seq"],
            occurred_at=record["occurred_at"],
            partition=partition,
            append_time=append_time,
            is_reported=capture_id is None,
        )
        for capture_id, pointer in wanted
    ]


def of_sample(part: CapturePart, keep_one_in: Mapping[str, int]) -> list[SnapshotRequest]:
    """Requests of the last part of a capture: one, if it is a sample that is to be kept."""
    every = keep_one_in.get(part.agent_id, keep_one_in.get(_EVERY_AGENT, 1))
    if not part.is_last_sample or not part.tenant_id or not kept(part.event_id or part.capture_id, every):
        return []
    pointer = f"{CAPTURE_POINTER}{part.capture_id}"
    return [
        SnapshotRequest(
            snapshot_id=derived_id("snapshot", part.tenant_id, part.run_id, pointer),
            tenant_id=part.tenant_id,
            agent_id=part.agent_id,
            trace_id=part.trace_id,
            run_id=part.run_id,
            step_id=part.step_id,
            event_id=part.event_id,
            tool_use_id=part.tool_use_id,
            trigger=part.trigger,
            capture_id=part.capture_id,
            pointer=pointer,
            seq=0,
            occurred_at=part.append_time,
            partition=part.partition,
            append_time=part.append_time,
        )
    ]


def kept(identity: str, every: int) -> bool:
    """Whether 1 in ``every`` falls on this event: by its hash, so that a repeat decides alike. 0 is never."""
    return every > 0 and int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8]) % every == 0


def derived_id(*parts: str) -> str:
    """An id that says nothing but is the same for the same parts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_ID_DIGITS]
