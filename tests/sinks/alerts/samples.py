"""Alerts and routing tables for the pure parts."""

from typing import Any, Final

from tachograph.sinks.alerts.alert import Alert, Place, alert_of
from tachograph.sinks.alerts.dispatch import Notification
from tachograph.sinks.alerts.routes import RoutingTable

NOON: Final = 1_780_000_000.0
"""Some moment in 2026, in seconds."""


def violation(number: int = 1, **changes: Any) -> dict[str, Any]:
    """A row of ``violations`` as it is decoded."""
    return {
        "tenant_id": "acme",
        "agent_id": "coder",
        "violation_id": f"v{number}",
        "kind": "policy",
        "code": "policy.scope",
        "severity": "error",
        "message": "a change touched CI files; ask the owner",
        "evidence": "canary-evidence",
        "constraint_id": "c-1",
        "verdict": "fail",
        "action": "blocked",
        "trace_id": "t",
        "run_id": "r",
        "event_id": "e",
        "step_id": None,
        "tool_use_id": None,
        "occurred_at": 1_780_000_000_000_000,
        "sample_event_ids": [],
    } | changes


def alert(number: int = 1, **changes: Any) -> Alert:
    return alert_of(violation(number, **changes))


def place(offset: int, partition: int = 0) -> Place:
    return Place("violations", partition, offset)


def notification(*alerts: Alert, receiver: str = "ops") -> Notification:
    return Notification(receiver, "all", tuple((place(number), found) for number, found in enumerate(alerts)))


def table(*routes: dict[str, Any], receivers: tuple[dict[str, Any], ...] = ()) -> RoutingTable:
    """A routing table of receivers on stdout, unless others are given."""
    given = receivers or tuple({"name": name, "type": "stdout"} for name in ("ops", "dev"))
    return RoutingTable.model_validate(
        {"receivers": given, "routes": routes or ({"name": "all", "receivers": ["ops"], "group_wait_s": 0},)}
    )
