"""The record of an erasure: a decision like any other, proposed by whoever erased, judged and sealed by the pipeline.

It names nobody: the subject is the keyed hash under which the store knew it, and content is gone.
"""

import hashlib
from typing import Any, Final

from tachograph.producers import Tracer
from tachograph.producers.publishing import Publisher, SpoolPublisher
from tachograph.schemas.errors import TachographError
from tachograph.schemas.settings import Settings
from tachograph.sinks.artifacts import Erasure
from tachograph.sinks.artifacts.entry import from_micros

DECISION: Final = "tachograph.erasure"
VERSION: Final = "1.0.0"
AGENT: Final = "tachograph"
"""Agent of the run that an erasure is."""
_MOST_NAMED: Final = 200
"""Artifacts named one by one; all of them are in the hash."""


class ErasureNotRecordedError(TachographError):
    """What was to be erased is erased, and no record of it is kept yet. Erasing again records it."""


def record_id(erasure: Erasure) -> str:
    """Id of the record: the same for the same erasure, so that a record that is made again can be told."""
    named = f"{erasure.tenant_id}|{erasure.subject_name}|{erasure.erased_at}"
    return f"erasure-{hashlib.sha256(named.encode()).hexdigest()[:32]}"


def proposal(erasure: Erasure, by: str, session_id: str) -> dict[str, Any]:
    """The record, as the decision ``tachograph.erasure`` of the catalog asks for it."""
    moment = from_micros(erasure.erased_at).isoformat().replace("+00:00", "Z")
    artifacts = [f"artifact:{entry.artifact_id}#sha256:{entry.hash}" for entry in erasure.artifacts]
    digest = hashlib.sha256("\n".join(artifacts).encode()).hexdigest()
    return {
        "record_id": record_id(erasure),
        "decision_key": DECISION,
        "decision_version": VERSION,
        "status": "DECIDED",
        "actor": {"type": "USER", "id": by},
        "subject_ids": [f"subject:{erasure.subject_name}"],
        "inputs_refs": {"request": record_id(erasure), "session": session_id},
        "outputs": {
            "outcome": "erased",
            "subject": erasure.subject_name,
            "key_id": erasure.key_id,
            "erased_at": moment,
            "reason": erasure.reason,
            "artifact_count": len(artifacts),
            "artifacts_sha256": digest,
        },
        "evidence_refs": artifacts[:_MOST_NAMED],
        "policy_decisions": [
            {
                "policy_decision_id": f"{record_id(erasure)}-policy",
                "bundle_id": "POLICY_ERASURE",
                "bundle_version": VERSION,
                "rule_ids": ["R_ERASURE_IS_CONFIRMED"],
                "verdict": "require_approval",
            }
        ],
        # The command asks, or is told --yes: that is the gate, and what is gone is the evidence it was opened over.
        "approvals": [
            {
                "gate_id": "GATE_ERASURE",
                "approver": by,
                "approval_mode_effective": "destructive",
                "evidence_snapshot_hash": f"sha256:{digest}",
                "decided_at": moment,
            }
        ],
        "controls_active": {"approval_gates_active": ["GATE_ERASURE"]},
        "lineage": {
            "pack_version": f"ctxpack.tachograph@{VERSION}",
            "policy_versions": [f"POLICY_ERASURE@{VERSION}"],
            "decision_spec": f"{DECISION}@{VERSION}",
            "kg_snapshot": "none",
            "model_profile": f"model_profile.none@{VERSION}",
            "evaluator_suite": f"eval.none@{VERSION}",
        },
    }


def record_erasure(
    settings: Settings, erasure: Erasure, by: str, *, publisher: Publisher | None = None, patience_s: float = 30.0
) -> bool:
    """Record an erasure as a run of its own. On return the record is kept; False if the broker does not have it yet.

    ``publisher`` is the spool of ``home`` unless given. Raises ErasureNotRecordedError if it did not keep the record.
    """
    publisher = publisher or SpoolPublisher.from_settings(settings, durability="disk")
    tracer = Tracer(
        agent_id=AGENT, agent_version=VERSION, tenant_id=erasure.tenant_id, publisher=publisher, strict=False
    )
    try:
        with tracer.start_run("erase a subject", channel="cli") as run:
            kept = run.propose_record(**proposal(erasure, by, run.session_id))
        if kept is None or publisher.stats().dropped:
            raise ErasureNotRecordedError(
                "the subject is erased, but the record of it could not be written: look at the spool folder of "
                "TACHOGRAPH_HOME, then run the same command again"
            )
        return publisher.flush(patience_s)
    finally:
        publisher.close(1.0)
