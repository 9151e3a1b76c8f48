"""Rows of record_proposals: decision records as proposed, before any verdict."""

from typing import Final

from tachograph.processors.rows.shared import Record, Row, Rows, identity

_NO_SCORES: Final[Row] = dict.fromkeys(("score_policy", "score_utility", "score_latency", "score_safety", "score_cost"))
_NO_BUDGET: Final[Row] = dict.fromkeys(
    ("budget_tokens", "budget_tool_calls", "budget_cost_usd_cents", "budget_wall_clock_ms")
)
_NO_REPLAY: Final[Row] = {
    "replay_packet_id": None,
    "compiled_context_hash": None,
    "tool_transcript_chain_hash": None,
    "replay_last_status": "",
}


def record_proposal(record: Record, append_time: int) -> Rows:
    """An agent proposes a decision record."""
    return [("record_proposals", identity(record, append_time) | decision_body(record))]


def decision_body(record: Record) -> Row:
    """The columns that a proposal and a sealed record share."""
    actor, inputs, lineage = record["actor"], record["inputs_refs"], record["lineage"]
    controls = record["controls_active"]
    return {
        "record_id": record["record_id"],
        "decision_key": record["decision_key"],
        "decision_version": record["decision_version"],
        "status": record["status"],
        "is_primary": record["primary"],
        "actor_type": actor["type"],
        "actor_id": actor["id"],
        "workload_identity": actor["workload_identity"],
        "delegated_user_id": actor["delegated_user_id"],
        "intent_ref": record["intent_ref"],
        "subject_ids": record["subject_ids"],
        "input_request": inputs["request"],
        "input_session": inputs["session"],
        "input_attachments": inputs["attachments"],
        "outputs": record["outputs"],
        "evidence_refs": record["evidence_refs"],
        "policy_decisions": record["policy_decisions"],
        "approvals": record["approvals"],
        "must_refuse": controls["must_refuse"],
        "must_escalate": controls["must_escalate"],
        "approval_gates_active": controls["approval_gates_active"],
        "redaction_rules_active": controls["redaction_rules_active"],
        "tool_lineage": record["tool_lineage"],
        "pack_version": lineage["pack_version"],
        "policy_versions": lineage["policy_versions"],
        "decision_spec": lineage["decision_spec"],
        "kg_snapshot": lineage["kg_snapshot"],
        "model_profile": lineage["model_profile"],
        "evaluator_suite": lineage["evaluator_suite"],
        "supersedes": record["supersedes"],
        "incident_id": record["incident_id"],
        **_scores(record["scorecard"]),
        **_budget(record["budget_usage"]),
        **_replay(record["replay"]),
    }


def _scores(card: Record | None) -> Row:
    return _NO_SCORES if card is None else {f"score_{name}": value for name, value in card.items()}


def _budget(usage: Record | None) -> Row:
    return _NO_BUDGET if usage is None else {f"budget_{name}": value for name, value in usage.items()}


def _replay(replay: Record | None) -> Row:
    if replay is None:
        return _NO_REPLAY
    return {
        "replay_packet_id": replay["replay_packet_id"],
        "compiled_context_hash": replay["compiled_context_hash"],
        "tool_transcript_chain_hash": replay["tool_transcript_chain_hash"],
        "replay_last_status": replay["last_status"],
    }
