"""One full example of every model, used wherever a believable record is needed."""

from datetime import UTC, datetime
from typing import Any

from tachograph.schemas import models
from tachograph.schemas.models.record import Audit

WHEN = datetime(2026, 3, 4, 5, 6, 7, 8, tzinfo=UTC)
HASH = "ab" * 32
POINTER = models.ArtifactPointer(
    artifact_id="art_1", path="artifacts/ab/cd.bin", hash=HASH, size_bytes=70_000, created_at=WHEN
)


def envelope(seq: int, **extra: Any) -> dict[str, Any]:
    return {
        "tenant_id": "acme",
        "agent_id": "coder",
        "event_id": f"018e0000-0000-7000-8000-{seq:012d}",
        "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
        "run_id": "run_1",
        "seq": seq,
        "occurred_at": WHEN,
    } | extra


REQUEST = {
    "request_id": "req_1",
    "user_request_raw": "Fix the failing test in parser.py",
    "constraints": [{"id": "constraint.scope", "type": "scope", "rule": "paths_within('src/**')"}],
    "context": {"channel": "cli", "repo": "acme/parser", "branch": "main", "ticket_id": "T-17"},
}

RUN_STARTED = models.RunStarted(
    **envelope(0),
    session_id="sess_1",
    agent_version="1.2.3",
    environment="ci",
    capture_mode="redacted",
    request=REQUEST,
    parent_run_id="run_0",
    sdk="tachograph-python/0.1.0",
    metadata={"attempt": 1, "dry_run": False, "share": 0.25, "host": "builder-3"},
)

STEP_STARTED = models.StepStarted(
    **envelope(1),
    step_id="step_1",
    parent_step_id="step_0",
    span_id="00f067aa0ba902b7",
    parent_span_id="00f067aa0ba902b6",
    step_type="tool",
    name="fetch_data",
    metadata={"k": "v"},
)

DECISION_EVENT = models.DecisionEvent(
    **envelope(2),
    span_id="00f067aa0ba902b8",
    parent_span_id="00f067aa0ba902b7",
    step_id="step_1",
    session={
        "session_id": "sess_1",
        "run_id": "run_1",
        "agent_id": "coder",
        "agent_version": "1.2.3",
        "environment": "ci",
    },
    request=REQUEST,
    prompt_provenance={
        "provider": "anthropic",
        "model": "model-x",
        "capture_mode": "redacted",
        "prompt_bundle": {
            "messages": [
                {"role": "system", "content": "You are a coding agent."},
                {"role": "developer", "content": "Stay under src/."},
                {"role": "user", "content": "Fix the failing test in parser.py"},
            ],
            "retrieval": {"enabled": True, "sources": ["repo:parser.py"], "snippets": "def parse(): ..."},
            "tools": [
                {"name": "edit_file", "description": "Edit a file", "schema": {"type": "object"}},
                {"name": "shell", "description": None, "schema": None},
            ],
            "transformations": [{"type": "template", "summary": "filled the coding template"}],
        },
        "prompt_bundle_hash": HASH,
        "sent_hash": HASH,
        "bundle_pointer": None,
        "parameters": {"temperature": 0.2, "top_p": None, "max_tokens": 1024},
    },
    model_output={
        "completion_id": "cmpl_1",
        "output_raw": "I will edit parser.py.",
        "output_structured": {"plan": ["edit", "test"], "n": 2},
        "tool_calls": [{"tool_call_id": "tc_1", "name": "edit_file", "arguments": {"path": "src/parser.py"}}],
        "usage": {"input_tokens": 812, "output_tokens": 96, "latency_ms": 1430},
    },
    agent_action={
        "action_type": "edit",
        "action_summary": "Edited src/parser.py",
        "artifacts": [
            {
                "type": "file_edit",
                "id": "edit_1",
                "summary": "src/parser.py +2 -1",
                "content": "--- a/src/parser.py\n+++ b/src/parser.py\n",
                "content_ref": "art_1",
                "hash": HASH,
                "metadata": {"path": "src/parser.py", "lines_added": 2, "lines_removed": 1, "exit_code": None},
            }
        ],
        "tool_results": [
            {"tool_call_id": "tc_1", "name": "edit_file", "output": "ok", "is_error": False, "duration_ms": 12}
        ],
    },
    evaluation={
        "alignment": {
            "status": "warn",
            "score": 0.8,
            "violations": [
                {
                    "id": "constraint.no_emojis",
                    "severity": "warn",
                    "message": "the output has an emoji",
                    "evidence": "output[12]",
                }
            ],
        },
        "quality": {"status": "pass", "checks": [{"id": "tests.passed", "status": "pass", "message": "12 of 12"}]},
        "policy": {"status": "unknown", "checks": []},
    },
)

TOOL_CALL_RECORD = models.ToolCallRecord(
    **envelope(3),
    tool_use_id="tc_1",
    tool_name="edit_file",
    leg="post",
    span_id="00f067aa0ba902b9",
    step_id="step_1",
    task_id="task_1",
    parent_tool_use_id="tc_0",
    phase="execution",
    depth=2,
    capture_mode="redacted",
    tool_input='{"path":"src/parser.py"}',
    output="ok",
    output_pointer=POINTER,
    duration_ms=12,
    hooks=[
        {"hook": "audit", "stage": "pre", "action": "continue"},
        {"hook": "scope", "stage": "post", "action": "abort", "reason": "outside src/", "modified": True},
    ],
    metadata={"retries": 0},
)

AGENT_DECISION = models.AgentDecision(
    **envelope(4),
    decision_id="01890000-0000-7000-8000-0000000000d1",
    step_id="step_1",
    decision_type="tool_selection",
    selected="cache",
    reason_code="cached_data_sufficient",
    candidates=["cache", "api", "database"],
    confidence=0.95,
    metadata={"cache_age_minutes": 3},
)

AGENT_QUALITY_SIGNAL = models.AgentQualitySignal(
    **envelope(5),
    signal_id="01890000-0000-7000-8000-0000000000e1",
    step_id="step_1",
    signal_type="tool_success",
    signal_code="first_attempt",
    value=True,
    weight=0.9,
    metadata={"result_count": 4},
    record_id="dr_1",
)

CONTEXT_MANIFEST = models.ContextManifest(
    **envelope(6),
    manifest_id="man_1",
    step_id="step_1",
    snapshot_id="snap_1",
    intent={"goal": "fix test"},
    retrieval_query="parser failing test",
    candidate_chunk_ids=["c1", "c2"],
    selected_chunk_ids=["c1"],
    reranker_model="rerank-s",
    reranker_version="3",
    token_budget={"limit": 8000, "used": 5120, "by_source": {"evidence": 5000, "user_input": 120}},
    compiler_version="ctx-1.0",
    prefix_hash=HASH,
    prefix_length=900,
    included=[
        {
            "item_id": "c1",
            "item_type": "evidence",
            "source_ref": "repo:parser.py#L1-40",
            "included_reason": "retrieval_trigger",
            "tokens": 5000,
            "score": 0.83,
            "hash": HASH,
        }
    ],
    excluded=[
        {
            "item_id": "c2",
            "item_type": "memory",
            "excluded_reason": "score_below_threshold",
            "tokens": 700,
            "score": 0.1,
        }
    ],
    prompt_snapshot=POINTER,
    tool_output_snapshots=[POINTER],
)

_BODY: dict[str, Any] = {
    "record_id": "dr_1",
    "decision_key": "support.refund.execute",
    "decision_version": "1.0.0",
    "status": "DECIDED",
    "actor": {
        "type": "AGENT",
        "id": "agt_support",
        "workload_identity": "spiffe://acme/agents/support",
        "delegated_user_id": "usr_771",
    },
    "intent_ref": "support.refund",
    "subject_ids": ["customer:cus_77", "order:ord_881"],
    "inputs_refs": {"request": "req_1", "session": "sess_1", "attachments": ["artifact:invoice#sha256:2f9c"]},
    "outputs": {"outcome": "approved", "refund_amount_inr": 4200},
    "evidence_refs": ["kg:order:ord_881#snapshot_1", "tool:orders.lookup:tc_117"],
    "policy_decisions": [
        {"policy_decision_id": "pol_1", "bundle_id": "RETURNS", "rule_ids": ["R_IDV"], "verdict": "allow"}
    ],
    "approvals": [
        {
            "gate_id": "GATE_FINANCE",
            "approver": "lead_77",
            "approval_mode_effective": "destructive",
            "evidence_snapshot_hash": "sha256:b2a1",
            "decided_at": WHEN,
        }
    ],
    "controls_active": {"must_escalate": ["fraud_signal_high"], "redaction_rules_active": ["pan"]},
    "tool_lineage": [
        {
            "tool_call_id": "tc_121",
            "tool_result_id": "tr_121",
            "approval_mode_effective": "destructive",
            "idempotency_key": "ik_1",
            "reversal_token": "rv_1",
        }
    ],
    "scorecard": {"policy": 1, "utility": 0.94, "latency": 0.86, "safety": 1, "cost": 0.91},
    "budget_usage": {"tokens": 4720, "tool_calls": 4, "cost_usd_cents": 0.91, "wall_clock_ms": 1840},
    "lineage": {
        "pack_version": "pack@1.0.0",
        "policy_versions": ["RETURNS@1.0.0"],
        "decision_spec": "support.refund.execute@1.0.0",
        "kg_snapshot": "kg_1",
        "model_profile": "safe@1.0.0",
        "evaluator_suite": "refund@1.0.0",
    },
    "replay": {
        "replay_packet_id": "rp_1",
        "compiled_context_hash": "sha256:9f0b",
        "tool_transcript_chain_hash": "sha256:7c4a",
    },
}

RECORD_PROPOSAL = models.RecordProposal(**envelope(7), **_BODY)

AGENT_FAILURE = models.AgentFailure(
    **envelope(8),
    failure_id="fail_1",
    step_id="step_1",
    span_id="00f067aa0ba902b9",
    error_type="TimeoutError",
    message="the tool did not answer",
    trigger="tool_timeout",
    tool_use_id="tc_1",
    snapshots=[POINTER],
    capture_ids=["cap_1"],
    missing_pointer="artifact:art_9",
)

STEP_ENDED = models.StepEnded(
    **envelope(9), step_id="step_1", status="failed", duration_ms=1500, error_type="TimeoutError"
)

EVENTS_DROPPED = models.EventsDropped(
    **envelope(10),
    count=3,
    reason="spool_full",
    first_at="2026-03-04T05:06:07Z",
    record_types=["ToolCallRecord", "AgentDecision"],
)

RUN_ENDED = models.RunEnded(
    **envelope(11),
    status="failed",
    emitted=12,
    dropped=3,
    duration_ms=4000,
    input_tokens=812,
    output_tokens=96,
    error_type="TimeoutError",
)

RECORDS: tuple[models.Record, ...] = (
    RUN_STARTED,
    STEP_STARTED,
    DECISION_EVENT,
    TOOL_CALL_RECORD,
    AGENT_DECISION,
    AGENT_QUALITY_SIGNAL,
    CONTEXT_MANIFEST,
    RECORD_PROPOSAL,
    AGENT_FAILURE,
    STEP_ENDED,
    EVENTS_DROPPED,
    RUN_ENDED,
)
"""A whole run: one record of every type, in order."""

DECISION_RECORD = models.DecisionRecord(
    **envelope(7),
    **_BODY,
    proposed_status="DECIDED",
    verdicts=[{"rule": "schema", "passed": True, "code": "schema.ok"}],
    audit=Audit(
        log_id="acme/0",
        log_seq=0,
        prev_hash="sha256:" + "0" * 64,
        record_hash="sha256:" + HASH,
        signed_by="kid_1",
        signature="c2ln",
        sealed_at=WHEN,
    ),
)

VIOLATION = models.Violation(
    tenant_id="acme",
    agent_id="coder",
    violation_id="vio_1",
    kind="observability",
    code="observability.missing_capture_mode",
    severity="error",
    message="a model call states no capture mode",
    verdict="fail",
    action="recorded",
    trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
    run_id="run_1",
    event_id="018e0000-0000-7000-8000-000000000002",
    occurred_at=WHEN,
)

SNAPSHOT = models.Snapshot(
    tenant_id="acme",
    agent_id="coder",
    snapshot_id="snap_1",
    trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
    run_id="run_1",
    kind="prompt",
    trigger="tool_timeout",
    occurred_at=WHEN,
    stored=True,
    artifact_id="art_1",
    path="artifacts/ab/cd.bin",
    hash=HASH,
    size_bytes=70_000,
    created_at=WHEN,
)

CHECKPOINT = models.Checkpoint(
    tenant_id="acme",
    log_id="acme/0",
    tree_size=1,
    root_hash="cm9vdA==",
    head_hash="sha256:" + HASH,
    note="acme/0\n1\ncm9vdA==\n",
    signed_by="kid_1",
    occurred_at=WHEN,
)

REPLAY_RESULT = models.ReplayResult(
    tenant_id="acme",
    agent_id="coder",
    replay_id="rep_1",
    trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
    run_id="run_1",
    record_id="dr_1",
    decision_key="support.refund.execute",
    decision_spec="support.refund.execute@1.0.0",
    pack_version="ctxpack.support@1.0.0",
    policy_versions=("POLICY_RETURNS_V1@1.0.0",),
    outcome="changed_policy",
    diffs='[{"type":"changed_policy","path":"policy_decisions[0].verdict"}]',
    replayed_by="tachograph/0.1.0",
    replayed_at=WHEN,
)

DEAD_LETTER = models.DeadLetter(
    tenant_id="",
    dead_letter_id=HASH,
    source_topic="tachograph.events.v1",
    source_partition=0,
    source_offset=7,
    stage="DECODE",
    component="tachograph.worker",
    error_type="TruncatedError",
    error="the message ends before its RunStarted does",
    size_bytes=12,
    value_sha256=HASH,
    occurred_at=WHEN,
)

DERIVED = (VIOLATION, SNAPSHOT, CHECKPOINT, REPLAY_RESULT, DEAD_LETTER)
