"""The part of a report that is about governed decisions: a record explains its decision by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleVerdict:
    """What one of the rules for records said."""

    rule: str
    passed: bool
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A policy decision that the record stands on."""

    policy_decision_id: str
    bundle: str
    """Bundle and version."""
    rule_ids: tuple[str, ...]
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A gate that somebody opened."""

    gate_id: str
    approver: str
    mode: str
    decided_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Where the record is sealed."""

    log_id: str
    log_seq: int
    record_hash: str
    prev_hash: str
    signed_by: str
    sealed_at: datetime
    checkpoint_size: int | None
    """Records under the latest signed checkpoint of the log; None if there is none yet."""
    covered: bool
    """Whether that checkpoint covers this record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A governed decision: outcome, evidence, policy, approvals, controls, lineage."""

    record_id: str
    decision_key: str
    decision_version: str
    proposed_status: str
    """What the agent proposed."""
    status: str
    """As sealed; as proposed while it is not."""
    actor: str
    """Type and id."""
    on_behalf_of: str | None
    subject_ids: tuple[str, ...]
    outputs: str
    """The outcome as JSON text."""
    evidence_refs: tuple[str, ...]
    policies: tuple[Policy, ...]
    approvals: tuple[Approval, ...]
    controls: dict[str, tuple[str, ...]]
    """Controls in force, by kind."""
    lineage: dict[str, str]
    verdicts: tuple[RuleVerdict, ...]
    """What the rules said when it was sealed."""
    supersedes: str | None
    proof: Proof | None
    """None: proposed, and not sealed."""


def records_of(
    proposals: Sequence[Mapping[str, Any]], sealed: Sequence[Mapping[str, Any]], checkpoints: Mapping[str, int]
) -> tuple[Record, ...]:
    """Every record of a run in the order of proposal, sealed where it is; what was sealed without a proposal follows.

    ``checkpoints`` are sizes of the latest signed heads, by log.
    """
    by_id = {row["record_id"]: row for row in sealed}
    rows = [by_id.pop(row["record_id"], row) for row in proposals]
    return tuple(_record(row, checkpoints) for row in (*rows, *by_id.values()))


def _record(row: Mapping[str, Any], checkpoints: Mapping[str, int]) -> Record:
    return Record(
        record_id=row["record_id"],
        decision_key=row["decision_key"],
        decision_version=row["decision_version"],
        proposed_status=row.get("proposed_status") or row["status"],
        status=row["status"],
        actor=f"{row['actor_type']} {row['actor_id']}",
        on_behalf_of=row["delegated_user_id"],
        subject_ids=tuple(row["subject_ids"]),
        outputs=row["outputs"],
        evidence_refs=tuple(row["evidence_refs"]),
        policies=tuple(
            Policy(
                policy_decision_id=item["policy_decision_id"],
                bundle=f"{item['bundle_id']}@{item['bundle_version'] or 'unpinned'}",
                rule_ids=tuple(item["rule_ids"]),
                verdict=item["verdict"],
            )
            for item in row["policy_decisions"]
        ),
        approvals=tuple(
            Approval(
                gate_id=item["gate_id"],
                approver=item["approver"],
                mode=item["approval_mode_effective"],
                decided_at=item["decided_at"],
            )
            for item in row["approvals"]
        ),
        controls={
            name: tuple(row[name])
            for name in ("must_refuse", "must_escalate", "approval_gates_active", "redaction_rules_active")
        },
        lineage={
            "pack_version": row["pack_version"],
            "policy_versions": ", ".join(row["policy_versions"]),
            "decision_spec": row["decision_spec"],
            "kg_snapshot": row["kg_snapshot"],
            "model_profile": row["model_profile"],
            "evaluator_suite": row["evaluator_suite"],
        },
        verdicts=tuple(
            RuleVerdict(rule=item["rule"], passed=item["passed"], code=item["code"], message=item["message"])
            for item in row.get("verdicts", ())
        ),
        supersedes=row["supersedes"],
        proof=_proof(row, checkpoints) if "record_hash" in row else None,
    )


def _proof(row: Mapping[str, Any], checkpoints: Mapping[str, int]) -> Proof:
    size = checkpoints.get(row["log_id"])
    return Proof(
        log_id=row["log_id"],
        log_seq=row["log_seq"],
        record_hash=row["record_hash"],
        prev_hash=row["prev_hash"],
        signed_by=row["signed_by"],
        sealed_at=row["sealed_at"],
        checkpoint_size=size,
        covered=size is not None and size > row["log_seq"],
    )
