"""An alert: a violation as people and machines outside hear of it."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from tachograph.schemas.enums import Severity
from tachograph.schemas.topics import ViolationKind

RESOLVED: Final = "resolved"
"""Verdict of a violation that says that an earlier one is over. Only objectives know of it."""

SEVERITIES: Final = tuple(severity.value for severity in Severity)
"""From the least to the most severe."""


class Place(NamedTuple):
    """Where an alert was read."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """What leaves the house. A violation's ``evidence`` is not in it: it may quote what an agent said."""

    violation_id: str
    tenant_id: str
    agent_id: str
    kind: str
    code: str
    severity: str
    message: str
    verdict: str
    action: str
    subject: str
    """Constraint or objective that was broken; empty if the code says it all."""
    run_id: str
    trace_id: str
    event_ids: tuple[str, ...]
    """The event that broke it, or examples where many did."""
    occurred_at_us: int
    started_at_us: int
    """When it began: earlier than ``occurred_at_us`` only where an objective recovered."""

    @property
    def resolved(self) -> bool:
        """Whether this ends an earlier alert."""
        return self.verdict == RESOLVED


def alert_of(row: dict[str, Any]) -> Alert:
    """The alert that a decoded row of ``violations`` stands for."""
    occurred: int = row["occurred_at"]
    event = row["event_id"]
    return Alert(
        violation_id=row["violation_id"],
        tenant_id=row["tenant_id"],
        agent_id=row["agent_id"],
        kind=row["kind"],
        code=row["code"],
        severity=row["severity"],
        message=row["message"],
        verdict=row["verdict"],
        action=row["action"],
        subject=row["constraint_id"] or "",
        run_id=row["run_id"],
        trace_id=row["trace_id"],
        event_ids=(event,) if event else tuple(row["sample_event_ids"]),
        occurred_at_us=occurred,
        started_at_us=_started(row, occurred),
    )


def _started(row: dict[str, Any], occurred: int) -> int:
    """An objective's evidence is the evaluator's own figures, and says since when it burned."""
    if row["kind"] != ViolationKind.SLO or not row["evidence"]:
        return occurred
    try:
        figures = orjson.loads(row["evidence"])
    except orjson.JSONDecodeError:
        return occurred
    started = figures.get("starts_at_us") if isinstance(figures, dict) else None
    return started if isinstance(started, int) and 0 <= started <= occurred else occurred
