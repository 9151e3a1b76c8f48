"""DecisionRecord: the governed outcome and what it stands on. A proposal has all but the verdict and the seal."""

from typing import Annotated

from pydantic import Field, model_validator

from tachograph.schemas.canonical import CanonicalError, sealed_bytes
from tachograph.schemas.enums import (
    ActorType,
    ApprovalMode,
    PolicyVerdict,
    RecordStatus,
    ReplayStatus,
    RetentionClass,
    ValidationRule,
)
from tachograph.schemas.models.base import (
    Count,
    ExactDecimal,
    Frozen,
    Identifier,
    JsonObject,
    Record,
    Timestamp,
)

Score = Annotated[ExactDecimal, Field(ge=0, le=1)]


class Actor(Frozen):
    """Who decided, and on whose behalf."""

    type: ActorType
    id: Identifier
    workload_identity: str | None = None
    delegated_user_id: str | None = None


class InputsRefs(Frozen):
    """References to the inputs, never the payloads."""

    request: Identifier
    session: Identifier
    attachments: tuple[str, ...] = ()


class PolicyDecision(Frozen):
    """What a bundle of rules said."""

    policy_decision_id: Identifier
    bundle_id: Identifier
    bundle_version: str | None = None
    rule_ids: tuple[str, ...]
    verdict: PolicyVerdict


class Approval(Frozen):
    """A gate that somebody opened, over evidence frozen by its hash."""

    gate_id: Identifier
    approver: Identifier
    approval_mode_effective: ApprovalMode
    evidence_snapshot_hash: Annotated[str, Field(min_length=1, max_length=128)]
    decided_at: Timestamp


class ControlsActive(Frozen):
    """Runtime controls in force when the decision was made."""

    must_refuse: tuple[str, ...] = ()
    must_escalate: tuple[str, ...] = ()
    approval_gates_active: tuple[str, ...] = ()
    redaction_rules_active: tuple[str, ...] = ()


class ToolLineage(Frozen):
    """One side effect, and how to undo it."""

    tool_call_id: Identifier
    tool_result_id: Identifier
    approval_mode_effective: ApprovalMode
    idempotency_key: str | None = None
    reversal_token: str | None = None


class Scorecard(Frozen):
    """Evaluator outputs between 0 and 1, exact."""

    policy: Score
    utility: Score
    latency: Score
    safety: Score
    cost: Score


class BudgetUsage(Frozen):
    """Resources used."""

    tokens: Count
    tool_calls: Count
    cost_usd_cents: ExactDecimal
    wall_clock_ms: Count


class Lineage(Frozen):
    """The substrate, pinned. An empty string is unpinned, and the lineage rule says so."""

    pack_version: str
    policy_versions: tuple[str, ...]
    decision_spec: str
    kg_snapshot: str
    model_profile: str
    evaluator_suite: str


class Replay(Frozen):
    """What a replay needs to find, and how the last one ended."""

    replay_packet_id: Identifier
    compiled_context_hash: str
    tool_transcript_chain_hash: str
    last_status: ReplayStatus = ReplayStatus.NOT_REPLAYED


class DecisionBody(Record):
    """The fields that a proposal and a sealed record share."""

    record_id: Identifier
    decision_key: Identifier
    decision_version: Identifier
    status: RecordStatus
    primary: bool = True
    """The run's main decision; exactly one terminal record of it must come."""
    actor: Actor
    intent_ref: str | None = None
    subject_ids: Annotated[tuple[str, ...], Field(min_length=1)]
    inputs_refs: InputsRefs
    outputs: JsonObject
    evidence_refs: tuple[str, ...]
    policy_decisions: tuple[PolicyDecision, ...]
    approvals: tuple[Approval, ...]
    controls_active: ControlsActive
    tool_lineage: tuple[ToolLineage, ...] = ()
    scorecard: Scorecard | None = None
    budget_usage: BudgetUsage | None = None
    lineage: Lineage
    replay: Replay | None = None
    supersedes: Identifier | None = None
    """Record that this one corrects. History is not edited."""
    incident_id: str | None = None

    @model_validator(mode="after")
    def _outputs_have_one_form(self) -> "DecisionBody":
        try:
            sealed_bytes(self.outputs)
        except CanonicalError as error:
            raise ValueError(f"outputs cannot be sealed ({error.reason}): write decimals as text") from None
        return self


class RecordProposal(DecisionBody):
    """What an agent proposes to have recorded."""


class RuleVerdict(Frozen):
    """Outcome of one validation rule."""

    rule: ValidationRule
    passed: bool
    code: str
    message: str = ""


class Audit(Frozen):
    """The seal: place in the log, hash chain and signature."""

    log_id: Identifier
    log_seq: Count
    prev_hash: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
    record_hash: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
    signed_by: Identifier
    """Key id."""
    signature: Annotated[str, Field(min_length=1)]
    """Ed25519 over the record hash, base64."""
    sealed_at: Timestamp
    """Broker's append time of the proposal: sealing has no clock of its own."""


class DecisionRecord(DecisionBody):
    """A proposal with its verdict and its seal."""

    proposed_status: RecordStatus
    verdicts: tuple[RuleVerdict, ...]
    retention: RetentionClass = RetentionClass.STANDARD
    audit: Audit
