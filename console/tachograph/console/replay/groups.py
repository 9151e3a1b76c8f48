"""Which type of difference an input stands for."""

from collections.abc import Iterable
from typing import Final

from tachograph.schemas.enums import ReplayStatus

_EVIDENCE: Final = ReplayStatus.CHANGED_EVIDENCE
_POLICY: Final = ReplayStatus.CHANGED_POLICY
_TOOLS: Final = ReplayStatus.CHANGED_TOOL_TRANSCRIPT
_CONTEXT: Final = ReplayStatus.CHANGED_COMPILED_CONTEXT
_SCORES: Final = ReplayStatus.CHANGED_SCORECARD
_TAMPER: Final = ReplayStatus.TAMPER_DETECTED

_COLUMNS: Final = {
    "evidence_refs": _EVIDENCE,
    "kg_snapshot": _EVIDENCE,
    "input_request": _EVIDENCE,
    "input_session": _EVIDENCE,
    "input_attachments": _EVIDENCE,
    "policy_decisions": _POLICY,
    "approvals": _POLICY,
    "policy_versions": _POLICY,
    "decision_spec": _POLICY,
    "decision_key": _POLICY,
    "decision_version": _POLICY,
    "tool_lineage": _TOOLS,
    "tool_transcript_chain_hash": _TOOLS,
    "replay_packet_id": _TOOLS,
    "compiled_context_hash": _CONTEXT,
    "must_refuse": _CONTEXT,
    "must_escalate": _CONTEXT,
    "approval_gates_active": _CONTEXT,
    "redaction_rules_active": _CONTEXT,
    "pack_version": _CONTEXT,
    "model_profile": _CONTEXT,
    "intent_ref": _CONTEXT,
    "evaluator_suite": _SCORES,
}

_PINS: Final = {
    "decision_spec": _POLICY,
    "policy_bundle": _POLICY,
    "context_pack": _CONTEXT,
    "model_profile": _CONTEXT,
    "evaluator_suite": _SCORES,
}

_RULES: Final = {
    "schema": _POLICY,
    "evidence": _EVIDENCE,
    "policy": _POLICY,
    "approval": _POLICY,
    "controls": _CONTEXT,
    "lineage": _CONTEXT,
    "trace": _CONTEXT,
    "seal": _TAMPER,
}

_CODES: Final = {
    "lineage.spec_unpinned": _POLICY,
    "lineage.policy_unpinned": _POLICY,
    "lineage.snapshot_unpinned": _EVIDENCE,
    "lineage.evaluator_suite_unpinned": _SCORES,
}

_EXPLAINS: Final = {
    "decision_spec": frozenset({"schema", "evidence", "policy", "approval", "lineage"}),
    "policy_bundle": frozenset({"policy", "approval", "lineage"}),
    "context_pack": frozenset({"controls", "lineage"}),
    "model_profile": frozenset({"lineage"}),
    "evaluator_suite": frozenset({"lineage", "retention"}),
}
"""What a verdict may say otherwise because a document of this kind changed."""


def type_of_column(name: str) -> ReplayStatus:
    """Type of a difference in a column of a proposal. What no pinned input explains was changed afterwards."""
    if name.startswith(("score_", "budget_")):
        return _SCORES
    return _COLUMNS.get(name, _TAMPER)


def type_of_pin(kind: str) -> ReplayStatus:
    """Type of a changed document of the catalog."""
    return _PINS[kind]


def type_of_verdict(rule: str, code: str) -> ReplayStatus:
    """Type of a rule that says something else."""
    return _CODES.get(code, _RULES[rule])


def explained_by(kinds: Iterable[str]) -> frozenset[str]:
    """Rules whose verdicts changed documents explain."""
    return frozenset().union(*(_EXPLAINS[kind] for kind in kinds))
