"""The pieces of a proposal as plain data. Each function names the fields of one piece, and checks what it can."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from tachograph.producers import checks
from tachograph.producers.errors import RecordRefusedError
from tachograph.schemas.enums import ActorType, ApprovalMode, PolicyVerdict

Exact = str | int | Decimal
"""A number that has one spelling. A float has not: write it as text."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def actor(
    type: ActorType | str,  # noqa: A002 - the field's name
    id: str,  # noqa: A002 - the field's name
    *,
    workload_identity: str | None = None,
    delegated_user_id: str | None = None,
) -> dict[str, Any]:
    """Who decides, and on whose behalf."""
    return {
        "type": checks.member("actor", type, ActorType).value,
        "id": id,
        "workload_identity": workload_identity,
        "delegated_user_id": delegated_user_id,
    }


def policy_decision(
    policy_decision_id: str,
    *,
    bundle: str,
    rules: Iterable[str],
    verdict: PolicyVerdict | str,
    version: str | None = None,
) -> dict[str, Any]:
    """What a bundle of rules said."""
    return {
        "policy_decision_id": policy_decision_id,
        "bundle_id": bundle,
        "bundle_version": version,
        "rule_ids": list(rules),
        "verdict": checks.member("verdict", verdict, PolicyVerdict).value,
    }


def approval(
    gate: str, *, approver: str, mode: ApprovalMode | str, evidence_snapshot_hash: str, decided_at: datetime | int
) -> dict[str, Any]:
    """A gate that somebody opened, over evidence frozen by its hash. Times are aware, or microseconds since 1970."""
    moment = _EPOCH + timedelta(microseconds=decided_at) if isinstance(decided_at, int) else decided_at
    if moment.tzinfo is None:
        raise RecordRefusedError("decided_at", "has a time zone")
    return {
        "gate_id": gate,
        "approver": approver,
        "approval_mode_effective": checks.member("mode", mode, ApprovalMode).value,
        "evidence_snapshot_hash": evidence_snapshot_hash,
        "decided_at": moment.isoformat(),
    }


def side_effect(
    tool_call_id: str,
    *,
    mode: ApprovalMode | str,
    tool_result_id: str | None = None,
    idempotency_key: str | None = None,
    reversal_token: str | None = None,
) -> dict[str, Any]:
    """A tool call that changed something: what makes a repeat harmless, and how to undo it."""
    return {
        "tool_call_id": tool_call_id,
        "tool_result_id": tool_result_id or f"{tool_call_id}/result",
        "approval_mode_effective": checks.member("mode", mode, ApprovalMode).value,
        "idempotency_key": idempotency_key,
        "reversal_token": reversal_token,
    }


def scorecard(*, policy: Exact, utility: Exact, latency: Exact, safety: Exact, cost: Exact) -> dict[str, str]:
    """Scores between 0 and 1, exact."""
    given = {"policy": policy, "utility": utility, "latency": latency, "safety": safety, "cost": cost}
    return {name: exact(name, value) for name, value in given.items()}


def budget(*, tokens: int, tool_calls: int, cost_usd_cents: Exact, wall_clock_ms: int) -> dict[str, Any]:
    """Resources used."""
    return {
        "tokens": checks.count("tokens", tokens),
        "tool_calls": checks.count("tool_calls", tool_calls),
        "cost_usd_cents": exact("cost_usd_cents", cost_usd_cents),
        "wall_clock_ms": checks.count("wall_clock_ms", wall_clock_ms),
    }


def exact(field: str, value: Exact) -> str:
    """A number as text."""
    if isinstance(value, (bool, float)):
        raise RecordRefusedError(field, "has no exact form as a float: write it as text, such as '0.94'")
    return str(value)
