"""Tables of proposed and sealed decision records, and of what became of them when they were replayed."""

from typing import Final

from tachograph.schemas.models.derived import Checkpoint, ReplayResult
from tachograph.schemas.tables.kinds import (
    FLAG,
    MAYBE_NUMBER,
    MAYBE_TEXT,
    NUMBER,
    TEXT,
    TEXTS,
    TIME,
    WORD,
    Column,
    Table,
    columns_of,
    rows_of,
)
from tachograph.schemas.tables.shared import IDENTITY

_DECISION_BODY: Final = (
    Column("record_id", TEXT, "Record."),
    Column("decision_key", WORD, "Decision in the catalog."),
    Column("decision_version", WORD, "Version of its spec."),
    Column("status", WORD, "DECIDED, DEFERRED, REJECTED, ESCALATED, IN_FLIGHT or CLOSED."),
    Column("is_primary", FLAG, "The run's main decision."),
    Column("actor_type", WORD, "AGENT, USER or SERVICE."),
    Column("actor_id", TEXT, "Who decided."),
    Column("workload_identity", MAYBE_TEXT, "Workload identity of the actor."),
    Column("delegated_user_id", MAYBE_TEXT, "On whose behalf."),
    Column("intent_ref", MAYBE_TEXT, "Intent in the catalog."),
    Column("subject_ids", TEXTS, "What it is about."),
    Column("input_request", TEXT, "Reference to the request."),
    Column("input_session", TEXT, "Reference to the session."),
    Column("input_attachments", TEXTS, "References to attachments."),
    Column("outputs", TEXT, "Accepted outcome as JSON text."),
    Column("evidence_refs", TEXTS, "Facts it stands on."),
    Column(
        "policy_decisions",
        rows_of(
            "PolicyDecision",
            Column("policy_decision_id", TEXT, "Policy decision."),
            Column("bundle_id", WORD, "Bundle of rules."),
            Column("bundle_version", MAYBE_TEXT, "Its version."),
            Column("rule_ids", TEXTS, "Rules that fired."),
            Column("verdict", WORD, "What they said."),
        ),
        "Rules that were applied.",
    ),
    Column(
        "approvals",
        rows_of(
            "Approval",
            Column("gate_id", WORD, "Gate."),
            Column("approver", TEXT, "Who opened it."),
            Column("approval_mode_effective", WORD, "How much authority it needed."),
            Column("evidence_snapshot_hash", TEXT, "Hash of the evidence it was given on."),
            Column("decided_at", TIME, "When."),
        ),
        "Gates that were opened.",
    ),
    Column("must_refuse", TEXTS, "Refusal controls in force."),
    Column("must_escalate", TEXTS, "Escalation controls in force."),
    Column("approval_gates_active", TEXTS, "Approval gates in force."),
    Column("redaction_rules_active", TEXTS, "Redaction rules in force."),
    Column(
        "tool_lineage",
        rows_of(
            "ToolLineage",
            Column("tool_call_id", TEXT, "Call."),
            Column("tool_result_id", TEXT, "Result."),
            Column("approval_mode_effective", WORD, "How much authority it needed."),
            Column("idempotency_key", MAYBE_TEXT, "Key that makes a repeat harmless."),
            Column("reversal_token", MAYBE_TEXT, "How to undo it."),
        ),
        "Side effects.",
    ),
    Column("score_policy", MAYBE_TEXT, "Exact decimal between 0 and 1."),
    Column("score_utility", MAYBE_TEXT, "Exact decimal between 0 and 1."),
    Column("score_latency", MAYBE_TEXT, "Exact decimal between 0 and 1."),
    Column("score_safety", MAYBE_TEXT, "Exact decimal between 0 and 1."),
    Column("score_cost", MAYBE_TEXT, "Exact decimal between 0 and 1."),
    Column("budget_tokens", MAYBE_NUMBER, "Tokens used."),
    Column("budget_tool_calls", MAYBE_NUMBER, "Tool calls made."),
    Column("budget_cost_usd_cents", MAYBE_TEXT, "Exact decimal."),
    Column("budget_wall_clock_ms", MAYBE_NUMBER, "Time used."),
    Column("pack_version", WORD, "Context pack."),
    Column("policy_versions", TEXTS, "Policy bundles."),
    Column("decision_spec", WORD, "Decision spec."),
    Column("kg_snapshot", TEXT, "Knowledge graph snapshot."),
    Column("model_profile", WORD, "Model profile."),
    Column("evaluator_suite", WORD, "Evaluator suite."),
    Column("replay_packet_id", MAYBE_TEXT, "What a replay loads."),
    Column("compiled_context_hash", MAYBE_TEXT, "Hash of the compiled context."),
    Column("tool_transcript_chain_hash", MAYBE_TEXT, "Hash of the tool transcripts."),
    Column("replay_last_status", WORD, "Result of the last replay."),
    Column("supersedes", MAYBE_TEXT, "Record that this one corrects."),
    Column("incident_id", MAYBE_TEXT, "Incident it is linked to."),
)

RECORD_PROPOSALS: Final = Table(
    "record_proposals",
    "Decision records as agents proposed them, before any verdict.",
    (*IDENTITY, *_DECISION_BODY),
)

DECISION_RECORDS: Final = Table(
    "decision_records",
    "Sealed decision records. Appended, never changed.",
    (
        *IDENTITY,
        *_DECISION_BODY,
        Column("proposed_status", WORD, "Status the agent proposed."),
        Column(
            "verdicts",
            rows_of(
                "RuleVerdict",
                Column("rule", WORD, "Rule."),
                Column("passed", FLAG, "Whether it passed."),
                Column("code", WORD, "What it found."),
                Column("message", TEXT, "In words."),
            ),
            "What the eight rules said.",
        ),
        Column("retention", WORD, "Retention class."),
        Column("log_id", WORD, "Log it is sealed in."),
        Column("log_seq", NUMBER, "Place in the log, from 0."),
        Column("prev_hash", TEXT, "Hash of the record before it."),
        Column("record_hash", TEXT, "Hash of the canonical record."),
        Column("signed_by", WORD, "Key id."),
        Column("signature", TEXT, "Ed25519 over the record hash, base64."),
        Column("sealed_at", TIME, "Broker's append time of the proposal."),
        Column("body", TEXT, "Canonical JSON that was hashed, exact bytes."),
    ),
)

CHECKPOINTS: Final = Table(
    "checkpoints",
    "Signed heads of the record logs.",
    columns_of(Checkpoint, words=frozenset({"tenant_id", "log_id", "signed_by"})),
)

LOG_HEADS: Final = Table(
    "log_heads",
    "Every log of a tenant and how far it had come, signed once a minute.",
    (
        Column("tenant_id", WORD, "Whose logs these are."),
        Column("minute", TIME, "First moment of the minute."),
        Column(
            "logs",
            rows_of(
                "HeadOfLog",
                Column("log_id", WORD, "Log."),
                Column("tree_size", NUMBER, "Records in it."),
                Column("root_hash", TEXT, "Base64, as in the note."),
            ),
            "Logs by id.",
        ),
        Column("note", TEXT, "C2SP signed note, exact bytes."),
        Column("signed_by", WORD, "Key id."),
        Column(
            "anchors",
            rows_of(
                "AnchorReceipt",
                Column("kind", WORD, "Anchor that took the note."),
                Column("reference", TEXT, "Where it is to be found there."),
                Column("token", TEXT, "What it gave for it, base64; empty if nothing."),
            ),
            "Anchors that took the note.",
        ),
    ),
)

REPLAYS: Final = Table(
    "replays",
    "Results of replaying records and runs. Replaying again adds a row.",
    columns_of(
        ReplayResult,
        words=frozenset({"tenant_id", "agent_id", "decision_key", "decision_spec", "pack_version", "replayed_by"}),
    ),
)
