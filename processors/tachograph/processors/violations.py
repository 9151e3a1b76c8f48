"""Violations as the stream publishes them: rows whose ids are derived from what they report."""

from hashlib import sha256
from typing import Any, Final, NamedTuple

from tachograph.processors.rows.shared import Row
from tachograph.schemas.enums import Severity
from tachograph.schemas.topics import ViolationKind

NO_ACTION: Final = "none"
"""The stream reports; it has nothing to stop."""


class Subject(NamedTuple):
    """Whom a violation is about."""

    tenant_id: str
    agent_id: str
    run_id: str
    trace_id: str
    occurred_at: int


def subject_of(record: dict[str, Any]) -> Subject:
    """Subject of a record that an agent emitted."""
    return Subject(
        record["tenant_id"],
        record["agent_id"],
        record["run_id"] or "",
        record["trace_id"] or "",
        record["occurred_at"],
    )


def violation_id(tenant_id: str, run_id: str, code: str, *about: str | None) -> str:
    """Id of what is reported, so that a repeat is the same message."""
    return sha256("\x1f".join((tenant_id, run_id, code, *(part or "" for part in about))).encode()).hexdigest()[:32]


def violation(
    subject: Subject,
    kind: ViolationKind,
    code: str,
    message: str,
    *,
    severity: Severity = Severity.ERROR,
    about: str | None = None,
    event_id: str | None = None,
    step_id: str | None = None,
    tool_use_id: str | None = None,
    evidence: str | None = None,
    constraint_id: str | None = None,
    verdict: str = "fail",
    action: str = NO_ACTION,
    sample_event_ids: list[str] | None = None,
) -> Row:
    """A row of ``violations``. ``about`` tells two of one code apart where event and tool call do not."""
    return {
        "tenant_id": subject.tenant_id,
        "agent_id": subject.agent_id,
        "violation_id": violation_id(subject.tenant_id, subject.run_id, code, event_id, tool_use_id, about),
        "kind": kind.value,
        "code": code,
        "severity": severity.value,
        "message": message,
        "evidence": evidence,
        "constraint_id": constraint_id,
        "verdict": verdict,
        "action": action,
        "trace_id": subject.trace_id,
        "run_id": subject.run_id,
        "event_id": event_id,
        "step_id": step_id,
        "tool_use_id": tool_use_id,
        "occurred_at": subject.occurred_at,
        "sample_event_ids": sample_event_ids or [],
    }
