"""An agent that refunds: what it records before it decides, and what it proposes."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tachograph.producers import Tracer
from tachograph.producers.publishing import SpoolPublisher
from tachograph.producers.run import Run
from tachograph.schemas.settings import Settings

TOOLS: dict[str, Any] = {"adp_orders.lookup": lambda order: {"order": order}, "adp_policy.eval": lambda: "allow"}


@contextmanager
def refunding(settings: Settings, agent_id: str) -> Iterator[Tracer]:
    """A tracer on the real broker; when the block ends, all of its records are acknowledged."""
    publisher = SpoolPublisher.from_settings(settings)
    yield Tracer(agent_id=agent_id, agent_version="1", publisher=publisher, tools=TOOLS)
    assert publisher.flush(30)
    publisher.close()


def evidence(run: Run) -> list[str]:
    """Look the order up, ask the policy, and have the order in the context: three facts, and their references."""
    order = f"kg:order:{uuid.uuid4().hex[:8]}#snapshot_1"
    with run.step("tool", "look up"):
        run.tools.execute("adp_orders.lookup", {"order": "ord_881"}, tool_use_id="tc_117")
        run.tools.execute("adp_policy.eval", {}, tool_use_id="tc_119")
        run.context().include(
            item_id="ord_881", item_type="evidence", source_ref=order, reason="plan_dependency"
        ).record()
    return [order, "tool:adp_orders.lookup:tc_117", "tool:adp_policy.eval:tc_119"]


def refund(refs: list[str], run: Run, **changes: Any) -> dict[str, Any]:
    """A refund that the example catalog accepts; ``changes`` replace fields."""
    return {
        "decision_key": "support.refund.execute",
        "decision_version": "1.0.0",
        "status": "DECIDED",
        "actor": {"type": "AGENT", "id": "agt_support", "delegated_user_id": "usr_771"},
        "subject_ids": ["customer:cus_77", "order:ord_881"],
        "inputs_refs": {"request": "req_1", "session": run.session_id},
        "outputs": {"outcome": "approved", "refund_amount_inr": 4200, "currency": "INR"},
        "evidence_refs": refs,
        "policy_decisions": [
            {
                "policy_decision_id": "pol_1",
                "bundle_id": "POLICY_RETURNS_V1",
                "rule_ids": ["R_REFUND_REQUIRES_IDV"],
                "verdict": "allow",
            }
        ],
        "approvals": [
            {
                "gate_id": "GATE_FINANCE_APPROVAL",
                "approver": "lead_77",
                "approval_mode_effective": "destructive",
                "evidence_snapshot_hash": "sha256:b2a1",
                "decided_at": "2026-05-09T09:31:30Z",
            }
        ],
        "controls_active": {
            "must_escalate": ["fraud_signal_high"],
            "approval_gates_active": ["GATE_FINANCE_APPROVAL"],
            "redaction_rules_active": ["pan", "credit_card"],
        },
        "lineage": {
            "pack_version": "ctxpack.support@1.0.0",
            "policy_versions": ["POLICY_RETURNS_V1@1.0.0"],
            "decision_spec": "support.refund.execute@1.0.0",
            "kg_snapshot": "kg_1",
            "model_profile": "model_profile.support.safe@1.0.0",
            "evaluator_suite": "eval.support.refund@1.0.0",
        },
    } | changes
