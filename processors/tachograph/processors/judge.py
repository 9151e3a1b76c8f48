"""Turns what the evaluation says of an event into a row and violations."""

from typing import Any

from tachograph.processors.evaluate import Evaluation, SideResult
from tachograph.processors.report import Report
from tachograph.processors.rows.shared import Row, identity
from tachograph.processors.violations import violation
from tachograph.schemas.enums import Severity
from tachograph.schemas.topics import ViolationKind


def evaluation_row(record: dict[str, Any], append_time: int, evaluation: Evaluation) -> Row:
    """The row of ``evaluations``: what the stream says, beside what the agent said of itself in the event's own row."""
    provenance = record["prompt_provenance"]
    return identity(record, append_time) | {
        "step_id": record["step_id"],
        "action_type": record["agent_action"]["action_type"],
        "capture_mode": "" if provenance is None else provenance["capture_mode"] or "",
        **_side("alignment", evaluation.alignment),
        **_side("quality", evaluation.quality),
        **_side("policy", evaluation.policy),
        "rules": evaluation.packs,
    }


def report_findings(record: dict[str, Any], evaluation: Evaluation, report: Report) -> None:
    """A violation for every broken rule. Two findings of one rule in one event are told apart by their constraint."""
    for finding in evaluation.violations:
        report.violation(
            violation(
                report.subject,
                ViolationKind(finding.kind),
                finding.code,
                finding.message,
                severity=Severity(finding.severity),
                about=finding.constraint_id,
                event_id=record["event_id"],
                step_id=finding.step_id,
                tool_use_id=finding.tool_use_id,
                evidence=finding.evidence,
                constraint_id=finding.constraint_id,
                verdict=finding.verdict,
                action=finding.action,
            )
        )


def _side(name: str, result: SideResult) -> Row:
    return {
        f"{name}_status": result.status,
        f"{name}_score": result.score,
        f"{name}_checks": result.checks,
    }
