"""What a release of the demo stands on: evidence that was really gathered, and a proposal that names it."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tachograph.console.demo.clock import StoryClock
from tachograph.console.demo.stage import AGENT
from tachograph.producers import Run

STATUS_TOOL = "monitoring.status"


def evidence(run: Run, built: dict[str, str]) -> list[str]:
    """Have the build in the context, ask how the service is, and say under which names both can be found."""
    artifact = f"artifact:build-{built['version']}"
    with run.context(intent={"goal": "release"}, token_limit=8000, compiler_version="demo-1") as context:
        context.prefix("release")
        context.include(
            artifact,
            "evidence",
            source_ref=f"sha256:{built['sha256']}",
            reason="plan_dependency",
            tokens=12,
            content=built["sha256"],
        )
        context.exclude("artifact:build-1.4.1", "evidence", reason="policy_filter", tokens=12)
    asked = run.recorder.ids.uuid()
    run.tools.execute(STATUS_TOOL, {"service": "parser"}, tool_use_id=asked)
    return [artifact, f"tool:{STATUS_TOOL}:{asked}"]


def approval(clock: StoryClock, refs: Sequence[str]) -> dict[str, Any]:
    """A person opens the gate, over the evidence as it was."""
    return {
        "gate_id": "GATE_RELEASE",
        "approver": "person:release-manager",
        "approval_mode_effective": "reversible",
        "evidence_snapshot_hash": f"sha256:{hashlib.sha256(' '.join(refs).encode()).hexdigest()}",
        "decided_at": datetime.fromtimestamp(clock.steady_ns() / 1e9, UTC).isoformat(),
    }


def proposal(
    run: Run,
    refs: Sequence[str],
    *,
    environment: str,
    verdict: str = "allow",
    approvals: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """A release as the catalog's ``coding.deployment.release`` wants it."""
    return {
        "decision_key": "coding.deployment.release",
        "decision_version": "1.0.0",
        "status": "DECIDED",
        "actor": {"type": "AGENT", "id": AGENT},
        "intent_ref": "release",
        "subject_ids": ["service:parser"],
        "inputs_refs": {"request": run.request_body["request_id"], "session": run.session_id},
        "outputs": {"outcome": "released", "service": "parser", "environment": environment, "release": "1.4.2"},
        "evidence_refs": list(refs),
        "policy_decisions": [
            {
                "policy_decision_id": f"pol_{environment}",
                "bundle_id": "POLICY_DEPLOYMENTS",
                "bundle_version": "1.0.0",
                "rule_ids": ["R_PRODUCTION_NEEDS_GATE"],
                "verdict": verdict,
            }
        ],
        "approvals": list(approvals),
        "controls_active": {
            "must_refuse": ["force_push_to_main"],
            "must_escalate": ["production_data_loss"],
            "approval_gates_active": ["GATE_RELEASE"],
            "redaction_rules_active": ["credentials"],
        },
        "lineage": {
            "pack_version": "ctxpack.coding@1.0.0",
            "policy_versions": ["POLICY_DEPLOYMENTS@1.0.0"],
            "decision_spec": "coding.deployment.release@1.0.0",
            "kg_snapshot": "none",
            "model_profile": "model_profile.coding@1.0.0",
            "evaluator_suite": "eval.coding@1.0.0",
        },
    }
