"""The refund of the requirements, as a proposal that every rule passes."""

from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tachograph.processors.catalog import load_catalog
from tachograph.processors.records import EvidenceFact, RunFacts
from tachograph.schemas.proofs.keys import micros

CATALOG = load_catalog(Path(__file__).parents[3] / "catalog" / "decisions")
_FOUND = CATALOG.keys("sealing")
assert _FOUND is not None
KEYS = _FOUND
NOW = micros(datetime(2026, 5, 9, 9, 31, 42, tzinfo=UTC))
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
REFS = [
    "kg:order:ord_881#snapshot_kg_2026_05_09_T0930",
    "tool:adp_orders.lookup:tc_117",
    "tool:adp_policy.eval:tc_119",
]
RUN = RunFacts("acme", TRACE, {ref: EvidenceFact("acme", NOW - 60_000_000) for ref in REFS})

_PROPOSAL: dict[str, Any] = {
    "tenant_id": "acme",
    "agent_id": "agt_support",
    "run_id": "run_1",
    "trace_id": TRACE,
    "event_id": "ev_1",
    "seq": 7,
    "occurred_at": NOW - 1_000_000,
    "record_id": "dr_1",
    "decision_key": "support.refund.execute",
    "decision_version": "1.0.0",
    "status": "DECIDED",
    "primary": True,
    "actor": {"type": "AGENT", "id": "agt_support", "workload_identity": None, "delegated_user_id": "usr_771"},
    "intent_ref": "support.refund",
    "subject_ids": ["customer:cus_77", "order:ord_881"],
    "inputs_refs": {"request": "req_1", "session": "sess_1", "attachments": []},
    "outputs": {"outcome": "approved", "refund_amount_inr": 4200, "currency": "INR"},
    "evidence_refs": REFS,
    "policy_decisions": [
        {
            "policy_decision_id": "pol_1",
            "bundle_id": "POLICY_RETURNS_V1",
            "bundle_version": None,
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
            "decided_at": NOW - 12_000_000,
        }
    ],
    "controls_active": {
        "must_refuse": [],
        "must_escalate": ["fraud_signal_high"],
        "approval_gates_active": ["GATE_FINANCE_APPROVAL"],
        "redaction_rules_active": ["pan", "credit_card"],
    },
    "tool_lineage": [],
    "scorecard": {"policy": "1", "utility": "0.94", "latency": "0.86", "safety": "1", "cost": "0.91"},
    "budget_usage": None,
    "lineage": {
        "pack_version": "ctxpack.support@1.0.0",
        "policy_versions": ["POLICY_RETURNS_V1@1.0.0"],
        "decision_spec": "support.refund.execute@1.0.0",
        "kg_snapshot": "kg_2026_05_09_T0930",
        "model_profile": "model_profile.support.safe@1.0.0",
        "evaluator_suite": "eval.support.refund@1.0.0",
    },
    "replay": None,
    "supersedes": None,
    "incident_id": None,
}


def proposal(**changes: Any) -> dict[str, Any]:
    """The refund with some members changed; a dotted name reaches into an object."""
    made = deepcopy(_PROPOSAL)
    for name, value in changes.items():
        target, *path = name.split("__")
        place = made
        for step in path:
            place, target = place[target], step
        place[target] = value
    return made
