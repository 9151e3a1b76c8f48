"""What a sealed record has to tell those who watch: rules that blocked it, an escalation, a failed scorecard."""

from collections.abc import Mapping
from typing import Any

from tachograph.processors.records.validate import Verdict
from tachograph.processors.rows.shared import Row
from tachograph.processors.violations import subject_of, violation
from tachograph.schemas.enums import RecordStatus, Severity
from tachograph.schemas.topics import ViolationKind


def violations_of(proposal: Mapping[str, Any], verdict: Verdict) -> list[Row]:
    """Rows of ``violations``, each linked to the record by ``evidence``."""
    subject, about = subject_of(dict(proposal)), proposal["record_id"]
    common: dict[str, Any] = {"event_id": proposal["event_id"], "evidence": f"record:{about}"}
    found = [
        violation(
            subject,
            ViolationKind.POLICY,
            f"record.{rule.code}",
            rule.message,
            about=about,
            constraint_id=f"record.{rule.rule.value}",
            action=verdict.status.value,
            **common,
        )
        for rule in verdict.rules
        if not rule.passed
    ]
    if verdict.status is RecordStatus.ESCALATED:
        message = "a governed decision went to a person or a workflow of higher trust"
        found.append(_warning(subject, "record.escalated", message, about, common))
    if verdict.failed_scorecard:
        message = "a governed decision scores below what its evaluator suite asks for"
        found.append(_warning(subject, "record.failed_scorecard", message, about, common))
    return found


def _warning(subject: Any, code: str, message: str, about: str, common: dict[str, Any]) -> Row:
    return violation(
        subject, ViolationKind.POLICY, code, message, severity=Severity.WARN, about=about, verdict="warn", **common
    )
