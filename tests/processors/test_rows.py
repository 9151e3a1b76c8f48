"""Every record type becomes the rows of its tables, complete and readable with the table's schema."""

import pytest
from inline_snapshot import snapshot

from tachograph.processors.rows.shared import metadata_text
from tachograph.schemas.models import Record
from tachograph.schemas.topics import RECORD_TYPES
from tests.processors.records import as_decoded, rows_of
from tests.schemas import samples


def test_run_started() -> None:
    """The start of a run is an open row."""
    assert rows_of(samples.RUN_STARTED) == snapshot(
        [
            (
                "rows.agent_runs",
                {
                    "tenant_id": "acme",
                    "agent_id": "coder",
                    "run_id": "run_1",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "event_id": "018e0000-0000-7000-8000-000000000000",
                    "seq": 0,
                    "occurred_at": 1772600767000008,
                    "received_at": 1772600767000000,
                    "event_type": "run_started",
                    "session_id": "sess_1",
                    "agent_version": "1.2.3",
                    "environment": "ci",
                    "capture_mode": "redacted",
                    "status": "running",
                    "request_id": "req_1",
                    "user_request_raw": "Fix the failing test in parser.py",
                    "constraints": [{"id": "constraint.scope", "type": "scope", "rule": "paths_within('src/**')"}],
                    "channel": "cli",
                    "repo": "acme/parser",
                    "branch": "main",
                    "ticket_id": "T-17",
                    "parent_run_id": "run_0",
                    "sdk": "tachograph-python/0.1.0",
                    "started_at": 1772600767000008,
                    "ended_at": None,
                    "duration_ms": None,
                    "emitted": None,
                    "received": 1,
                    "dropped": None,
                    "input_tokens": None,
                    "output_tokens": None,
                    "error_type": None,
                    "completeness": "open",
                    "missing": [],
                    "metadata": {"attempt": "1", "dry_run": "false", "share": "0.25", "host": "builder-3"},
                    "tool_calls": None,
                    "tool_calls_joined": None,
                    "repeats": None,
                },
            )
        ]
    )


def test_step_started() -> None:
    """The start of a step."""
    assert rows_of(samples.STEP_STARTED) == snapshot(
        [
            (
                "rows.agent_steps",
                {
                    "tenant_id": "acme",
                    "agent_id": "coder",
                    "run_id": "run_1",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "event_id": "018e0000-0000-7000-8000-000000000001",
                    "seq": 1,
                    "occurred_at": 1772600767000008,
                    "received_at": 1772600767000000,
                    "event_type": "step_started",
                    "step_id": "step_1",
                    "parent_step_id": "step_0",
                    "span_id": "00f067aa0ba902b7",
                    "parent_span_id": "00f067aa0ba902b6",
                    "step_type": "tool",
                    "name": "fetch_data",
                    "status": "",
                    "duration_ms": None,
                    "error_type": None,
                    "metadata": {"k": "v"},
                },
            )
        ]
    )


def test_decision_event() -> None:
    """An action boundary keeps everything but what lies in pointers."""
    assert rows_of(samples.DECISION_EVENT) == snapshot(
        [
            (
                "rows.decision_events",
                {
                    "tenant_id": "acme",
                    "agent_id": "coder",
                    "run_id": "run_1",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "event_id": "018e0000-0000-7000-8000-000000000002",
                    "seq": 2,
                    "occurred_at": 1772600767000008,
                    "received_at": 1772600767000000,
                    "schema_version": "0.2",
                    "span_id": "00f067aa0ba902b8",
                    "parent_span_id": "00f067aa0ba902b7",
                    "step_id": "step_1",
                    "session_id": "sess_1",
                    "agent_version": "1.2.3",
                    "environment": "ci",
                    "request_id": "req_1",
                    "user_request_raw": "Fix the failing test in parser.py",
                    "constraints": [{"id": "constraint.scope", "type": "scope", "rule": "paths_within('src/**')"}],
                    "channel": "cli",
                    "repo": "acme/parser",
                    "branch": "main",
                    "ticket_id": "T-17",
                    "provider": "anthropic",
                    "model": "model-x",
                    "capture_mode": "redacted",
                    "prompt_bundle_hash": "abababababababababababababababababababababababababababababababab",
                    "sent_hash": "abababababababababababababababababababababababababababababababab",
                    "bundle_artifact_id": None,
                    "messages": [
                        {"role": "system", "content": "You are a coding agent."},
                        {"role": "developer", "content": "Stay under src/."},
                        {"role": "user", "content": "Fix the failing test in parser.py"},
                    ],
                    "retrieval_enabled": True,
                    "retrieval_sources": ["repo:parser.py"],
                    "retrieval_snippets": "def parse(): ...",
                    "tools": [
                        {"name": "edit_file", "description": "Edit a file", "schema": '{"type":"object"}'},
                        {"name": "shell", "description": None, "schema": None},
                    ],
                    "transformations": [{"type": "template", "summary": "filled the coding template"}],
                    "temperature": 0.2,
                    "top_p": None,
                    "max_tokens": 1024,
                    "completion_id": "cmpl_1",
                    "output_raw": "I will edit parser.py.",
                    "output_artifact_id": None,
                    "output_structured": '{"n":2,"plan":["edit","test"]}',
                    "tool_calls": [
                        {"tool_call_id": "tc_1", "name": "edit_file", "arguments": '{"path":"src/parser.py"}'}
                    ],
                    "input_tokens": 812,
                    "output_tokens": 96,
                    "latency_ms": 1430,
                    "action_type": "edit",
                    "action_summary": "Edited src/parser.py",
                    "artifacts": [
                        {
                            "type": "file_edit",
                            "id": "edit_1",
                            "summary": "src/parser.py +2 -1",
                            "content": """\
--- a/src/parser.py
+++ b/src/parser.py
""",
                            "content_ref": "art_1",
                            "hash": "abababababababababababababababababababababababababababababababab",
                            "path": "src/parser.py",
                            "lines_added": 2,
                            "lines_removed": 1,
                            "exit_code": None,
                        }
                    ],
                    "tool_results": [
                        {
                            "tool_call_id": "tc_1",
                            "name": "edit_file",
                            "output": "ok",
                            "output_artifact_id": None,
                            "is_error": False,
                            "duration_ms": 12,
                        }
                    ],
                    "alignment_status": "warn",
                    "alignment_score": 0.8,
                    "alignment_violations": [
                        {
                            "id": "constraint.no_emojis",
                            "severity": "warn",
                            "message": "the output has an emoji",
                            "evidence": "output[12]",
                        }
                    ],
                    "quality_status": "pass",
                    "quality_checks": [{"id": "tests.passed", "status": "pass", "message": "12 of 12"}],
                    "policy_status": "unknown",
                    "policy_checks": [],
                    "overrides_event_id": None,
                },
            ),
            (
                "rows.tool_calls",
                {
                    "tenant_id": "acme",
                    "agent_id": "coder",
                    "run_id": "run_1",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "event_id": "018e0000-0000-7000-8000-000000000002",
                    "seq": 2,
                    "occurred_at": 1772600767000008,
                    "received_at": 1772600767000000,
                    "tool_use_id": "tc_1",
                    "tool_name": "edit_file",
                    "leg": "call",
                    "span_id": None,
                    "step_id": "step_1",
                    "task_id": None,
                    "parent_tool_use_id": None,
                    "phase": "",
                    "depth": 0,
                    "capture_mode": "redacted",
                    "tool_input": None,
                    "input_artifact_id": None,
                    "output": "ok",
                    "output_artifact_id": None,
                    "duration_ms": 12,
                    "error_type": None,
                    "error": None,
                    "skipped": False,
                    "hooks": [],
                    "metadata": {},
                    "event_ids": [],
                    "requested": True,
                    "requested_event_id": "018e0000-0000-7000-8000-000000000002",
                    "arguments": '{"path":"src/parser.py"}',
                    "requested_at": 1772600767000008,
                    "started_at": None,
                    "finished_at": None,
                    "handed_at": 1772600767000008,
                    "latency_ms": 0,
                    "attribution": [],
                    "hook_action": "",
                    "result_is_error": False,
                    "complete": False,
                    "missing": ["pre", "post"],
                    "closed_by": "run_ended",
                },
            ),
        ]
    )


def test_tool_call_record() -> None:
    """One leg of a tool call."""
    assert rows_of(samples.TOOL_CALL_RECORD) == snapshot(
        [
            (
                "rows.tool_calls",
                {
                    "tenant_id": "acme",
                    "agent_id": "coder",
                    "run_id": "run_1",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "event_id": "018e0000-0000-7000-8000-000000000003",
                    "seq": 3,
                    "occurred_at": 1772600767000008,
                    "received_at": 1772600767000000,
                    "tool_use_id": "tc_1",
                    "tool_name": "edit_file",
                    "leg": "call",
                    "span_id": "00f067aa0ba902b9",
                    "step_id": "step_1",
                    "task_id": "task_1",
                    "parent_tool_use_id": "tc_0",
                    "phase": "execution",
                    "depth": 2,
                    "capture_mode": "redacted",
                    "tool_input": '{"path":"src/parser.py"}',
                    "input_artifact_id": None,
                    "output": "ok",
                    "output_artifact_id": "art_1",
                    "duration_ms": 12,
                    "error_type": None,
                    "error": None,
                    "skipped": False,
                    "hooks": [
                        {
                            "hook": "audit",
                            "stage": "pre",
                            "action": "continue",
                            "reason": "",
                            "modified": False,
                            "error_type": None,
                        },
                        {
                            "hook": "scope",
                            "stage": "post",
                            "action": "abort",
                            "reason": "outside src/",
                            "modified": True,
                            "error_type": None,
                        },
                    ],
                    "metadata": {"retries": "0"},
                    "event_ids": ["018e0000-0000-7000-8000-000000000003"],
                    "requested": False,
                    "requested_event_id": None,
                    "arguments": None,
                    "requested_at": None,
                    "started_at": None,
                    "finished_at": 1772600767000008,
                    "handed_at": None,
                    "latency_ms": None,
                    "attribution": ["tc_0"],
                    "hook_action": "abort",
                    "result_is_error": False,
                    "complete": False,
                    "missing": ["pre", "result"],
                    "closed_by": "run_ended",
                },
            )
        ]
    )


def test_agent_decision() -> None:
    """A choice."""
    assert rows_of(samples.AGENT_DECISION) == snapshot(
        [
            (
                "rows.agent_decisions",
                {
                    "tenant_id": "acme",
                    "agent_id": "coder",
                    "run_id": "run_1",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "event_id": "018e0000-0000-7000-8000-000000000004",
                    "seq": 4,
                    "occurred_at": 1772600767000008,
                    "received_at": 1772600767000000,
                    "decision_id": "01890000-0000-7000-8000-0000000000d1",
                    "step_id": "step_1",
                    "decision_type": "tool_selection",
                    "selected": "cache",
                    "reason_code": "cached_data_sufficient",
                    "candidates": ["cache", "api", "database"],
                    "confidence": 0.95,
                    "metadata": {"cache_age_minutes": "3"},
                },
            )
        ]
    )


def test_agent_quality_signal() -> None:
    """A fact."""
    assert rows_of(samples.AGENT_QUALITY_SIGNAL) == snapshot(
        [
            (
                "rows.agent_quality_signals",
                {
                    "tenant_id": "acme",
                    "agent_id": "coder",
                    "run_id": "run_1",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "event_id": "018e0000-0000-7000-8000-000000000005",
                    "seq": 5,
                    "occurred_at": 1772600767000008,
                    "received_at": 1772600767000000,
                    "signal_id": "01890000-0000-7000-8000-0000000000e1",
                    "step_id": "step_1",
                    "signal_type": "tool_success",
                    "signal_code": "first_attempt",
                    "value": True,
                    "weight": 0.9,
                    "metadata": {"result_count": "4"},
                    "record_id": "dr_1",
                },
            )
        ]
    )


def test_context_manifest() -> None:
    """A manifest, then every item that was in or out, in order."""
    assert rows_of(samples.CONTEXT_MANIFEST) == snapshot(
        [
            (
                "rows.context_manifests",
                {
                    "tenant_id": "acme",
                    "agent_id": "coder",
                    "run_id": "run_1",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "event_id": "018e0000-0000-7000-8000-000000000006",
                    "seq": 6,
                    "occurred_at": 1772600767000008,
                    "received_at": 1772600767000000,
                    "manifest_id": "man_1",
                    "step_id": "step_1",
                    "snapshot_id": "snap_1",
                    "intent": '{"goal":"fix test"}',
                    "retrieval_query": "parser failing test",
                    "candidate_chunk_ids": ["c1", "c2"],
                    "selected_chunk_ids": ["c1"],
                    "reranker_model": "rerank-s",
                    "reranker_version": "3",
                    "token_limit": 8000,
                    "tokens_used": 5120,
                    "tokens_by_source": {"evidence": 5000, "user_input": 120},
                    "compiler_version": "ctx-1.0",
                    "prefix_hash": "abababababababababababababababababababababababababababababababab",
                    "prefix_length": 900,
                    "included": 1,
                    "excluded": 1,
                    "prompt_snapshot_artifact_id": "art_1",
                    "tool_output_snapshot_artifact_ids": ["art_1"],
                    "metadata": {},
                },
            ),
            (
                "rows.context_items",
                {
                    "tenant_id": "acme",
                    "agent_id": "coder",
                    "run_id": "run_1",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "event_id": "018e0000-0000-7000-8000-000000000006",
                    "seq": 6,
                    "occurred_at": 1772600767000008,
                    "received_at": 1772600767000000,
                    "manifest_id": "man_1",
                    "step_id": "step_1",
                    "position": 0,
                    "is_included": True,
                    "item_id": "c1",
                    "item_type": "evidence",
                    "source_ref": "repo:parser.py#L1-40",
                    "reason": "retrieval_trigger",
                    "tokens": 5000,
                    "score": 0.83,
                    "hash": "abababababababababababababababababababababababababababababababab",
                },
            ),
            (
                "rows.context_items",
                {
                    "tenant_id": "acme",
                    "agent_id": "coder",
                    "run_id": "run_1",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "event_id": "018e0000-0000-7000-8000-000000000006",
                    "seq": 6,
                    "occurred_at": 1772600767000008,
                    "received_at": 1772600767000000,
                    "manifest_id": "man_1",
                    "step_id": "step_1",
                    "position": 1,
                    "is_included": False,
                    "item_id": "c2",
                    "item_type": "memory",
                    "source_ref": None,
                    "reason": "score_below_threshold",
                    "tokens": 700,
                    "score": 0.1,
                    "hash": None,
                },
            ),
        ]
    )


def test_record_proposal() -> None:
    """A proposal before any verdict."""
    assert rows_of(samples.RECORD_PROPOSAL) == snapshot(
        [
            (
                "rows.record_proposals",
                {
                    "tenant_id": "acme",
                    "agent_id": "coder",
                    "run_id": "run_1",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "event_id": "018e0000-0000-7000-8000-000000000007",
                    "seq": 7,
                    "occurred_at": 1772600767000008,
                    "received_at": 1772600767000000,
                    "record_id": "dr_1",
                    "decision_key": "support.refund.execute",
                    "decision_version": "1.0.0",
                    "status": "DECIDED",
                    "is_primary": True,
                    "actor_type": "AGENT",
                    "actor_id": "agt_support",
                    "workload_identity": "spiffe://acme/agents/support",
                    "delegated_user_id": "usr_771",
                    "intent_ref": "support.refund",
                    "subject_ids": ["customer:cus_77", "order:ord_881"],
                    "input_request": "req_1",
                    "input_session": "sess_1",
                    "input_attachments": ["artifact:invoice#sha256:2f9c"],
                    "outputs": '{"outcome":"approved","refund_amount_inr":4200}',
                    "evidence_refs": ["kg:order:ord_881#snapshot_1", "tool:orders.lookup:tc_117"],
                    "policy_decisions": [
                        {
                            "policy_decision_id": "pol_1",
                            "bundle_id": "RETURNS",
                            "bundle_version": None,
                            "rule_ids": ["R_IDV"],
                            "verdict": "allow",
                        }
                    ],
                    "approvals": [
                        {
                            "gate_id": "GATE_FINANCE",
                            "approver": "lead_77",
                            "approval_mode_effective": "destructive",
                            "evidence_snapshot_hash": "sha256:b2a1",
                            "decided_at": 1772600767000008,
                        }
                    ],
                    "must_refuse": [],
                    "must_escalate": ["fraud_signal_high"],
                    "approval_gates_active": [],
                    "redaction_rules_active": ["pan"],
                    "tool_lineage": [
                        {
                            "tool_call_id": "tc_121",
                            "tool_result_id": "tr_121",
                            "approval_mode_effective": "destructive",
                            "idempotency_key": "ik_1",
                            "reversal_token": "rv_1",
                        }
                    ],
                    "score_policy": "1",
                    "score_utility": "0.94",
                    "score_latency": "0.86",
                    "score_safety": "1",
                    "score_cost": "0.91",
                    "budget_tokens": 4720,
                    "budget_tool_calls": 4,
                    "budget_cost_usd_cents": "0.91",
                    "budget_wall_clock_ms": 1840,
                    "pack_version": "pack@1.0.0",
                    "policy_versions": ["RETURNS@1.0.0"],
                    "decision_spec": "support.refund.execute@1.0.0",
                    "kg_snapshot": "kg_1",
                    "model_profile": "safe@1.0.0",
                    "evaluator_suite": "refund@1.0.0",
                    "replay_packet_id": "rp_1",
                    "compiled_context_hash": "sha256:9f0b",
                    "tool_transcript_chain_hash": "sha256:7c4a",
                    "replay_last_status": "not_replayed",
                    "supersedes": None,
                    "incident_id": None,
                },
            )
        ]
    )


def test_agent_failure() -> None:
    """A failure with its trigger and pointers."""
    assert rows_of(samples.AGENT_FAILURE) == snapshot(
        [
            (
                "rows.agent_failures",
                {
                    "tenant_id": "acme",
                    "agent_id": "coder",
                    "run_id": "run_1",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "event_id": "018e0000-0000-7000-8000-000000000008",
                    "seq": 8,
                    "occurred_at": 1772600767000008,
                    "received_at": 1772600767000000,
                    "failure_id": "fail_1",
                    "kind": "agent_failure",
                    "step_id": "step_1",
                    "span_id": "00f067aa0ba902b9",
                    "error_type": "TimeoutError",
                    "message": "the tool did not answer",
                    "trigger": "tool_timeout",
                    "tool_use_id": "tc_1",
                    "snapshot_artifact_ids": ["art_1"],
                    "capture_ids": ["cap_1"],
                    "missing_pointer": "artifact:art_9",
                    "dropped": 0,
                    "drop_reason": "",
                    "dropped_types": [],
                    "metadata": {},
                },
            )
        ]
    )


def test_step_ended() -> None:
    """The end of a step."""
    assert rows_of(samples.STEP_ENDED) == snapshot(
        [
            (
                "rows.agent_steps",
                {
                    "tenant_id": "acme",
                    "agent_id": "coder",
                    "run_id": "run_1",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "event_id": "018e0000-0000-7000-8000-000000000009",
                    "seq": 9,
                    "occurred_at": 1772600767000008,
                    "received_at": 1772600767000000,
                    "event_type": "step_ended",
                    "step_id": "step_1",
                    "parent_step_id": None,
                    "span_id": "",
                    "parent_span_id": None,
                    "step_type": "",
                    "name": "",
                    "status": "failed",
                    "duration_ms": 1500,
                    "error_type": "TimeoutError",
                    "metadata": {},
                },
            )
        ]
    )


def test_events_dropped() -> None:
    """A loss is a failure row of its own."""
    assert rows_of(samples.EVENTS_DROPPED) == snapshot(
        [
            (
                "rows.agent_failures",
                {
                    "tenant_id": "acme",
                    "agent_id": "coder",
                    "run_id": "run_1",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "event_id": "018e0000-0000-7000-8000-000000000010",
                    "seq": 10,
                    "occurred_at": 1772600767000008,
                    "received_at": 1772600767000000,
                    "failure_id": "018e0000-0000-7000-8000-000000000010",
                    "kind": "events_dropped",
                    "step_id": None,
                    "span_id": None,
                    "error_type": "EventsDropped",
                    "message": "the first was dropped at 2026-03-04T05:06:07Z",
                    "trigger": "",
                    "tool_use_id": None,
                    "snapshot_artifact_ids": [],
                    "capture_ids": [],
                    "missing_pointer": None,
                    "dropped": 3,
                    "drop_reason": "spool_full",
                    "dropped_types": ["ToolCallRecord", "AgentDecision"],
                    "metadata": {},
                },
            )
        ]
    )


def test_run_ended() -> None:
    """An end whose start never came says so."""
    assert rows_of(samples.RUN_ENDED) == snapshot(
        [
            (
                "rows.agent_runs",
                {
                    "tenant_id": "acme",
                    "agent_id": "coder",
                    "run_id": "run_1",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "event_id": "018e0000-0000-7000-8000-000000000011",
                    "seq": 11,
                    "occurred_at": 1772600767000008,
                    "received_at": 1772600767000000,
                    "event_type": "run_ended",
                    "session_id": "",
                    "agent_version": "",
                    "environment": "",
                    "capture_mode": "",
                    "status": "failed",
                    "request_id": "",
                    "user_request_raw": "",
                    "constraints": [],
                    "channel": "",
                    "repo": None,
                    "branch": None,
                    "ticket_id": None,
                    "parent_run_id": None,
                    "sdk": "",
                    "started_at": None,
                    "ended_at": 1772600767000008,
                    "duration_ms": 4000,
                    "emitted": 12,
                    "received": 1,
                    "dropped": 3,
                    "input_tokens": 812,
                    "output_tokens": 96,
                    "error_type": "TimeoutError",
                    "completeness": "incomplete",
                    "missing": ["the record of its start", "11 of 12 records", "3 records that the recorder dropped"],
                    "metadata": {},
                    "tool_calls": 0,
                    "tool_calls_joined": 0,
                    "repeats": 0,
                },
            )
        ]
    )


@pytest.mark.parametrize("record", samples.RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_without_trace_or_run_still_gives_its_rows(record: Record) -> None:
    """What a foreign producer forgot is empty, not lost."""
    changes = {"trace_id": None, "run_id": None}
    rows = rows_of(record, **changes)
    assert [table for table, _ in rows] == [table for table, _ in rows_of(record)]
    assert all((row["trace_id"], row["run_id"]) == ("", "") for _, row in rows)


def test_a_decision_event_without_its_lenient_fields_still_gives_a_row() -> None:
    """No capture mode, no bundle, no hash, no evaluation, no span: the row is there for the checks to find."""
    provenance = rows_input()
    provenance |= {"capture_mode": None, "prompt_bundle": None, "prompt_bundle_hash": None}
    [(_, row), *_] = rows_of(samples.DECISION_EVENT, prompt_provenance=provenance, evaluation=None, span_id=None)
    empty = ("capture_mode", "prompt_bundle_hash", "alignment_status", "quality_status", "policy_status", "span_id")
    assert {name: row[name] for name in empty} == dict.fromkeys(empty, "")
    assert (row["messages"], row["tools"], row["retrieval_enabled"]) == ([], [], False)
    assert row["model"] == "model-x"


def test_an_action_without_a_model_call_gives_a_row() -> None:
    """A human override has neither prompt nor output."""
    [(_, row), *_] = rows_of(samples.DECISION_EVENT, prompt_provenance=None, model_output=None)
    assert (row["provider"], row["model"], row["output_raw"], row["tool_calls"]) == ("", "", None, [])


def test_a_tool_call_without_capture_mode_gives_a_row() -> None:
    """As above, for tool calls."""
    [(_, row)] = rows_of(samples.TOOL_CALL_RECORD, capture_mode=None, phase=None)
    assert (row["capture_mode"], row["phase"]) == ("", "")


def test_a_proposal_without_its_optional_parts_gives_a_row() -> None:
    """Scores, budget and replay are empty together."""
    [(_, row)] = rows_of(samples.RECORD_PROPOSAL, scorecard=None, budget_usage=None, replay=None)
    assert {row[name] for name in row if name.startswith(("score_", "budget_"))} == {None}
    assert (row["replay_packet_id"], row["replay_last_status"]) == (None, "")


def test_metadata_values_become_text() -> None:
    """Every primitive has one spelling."""
    values = {"t": True, "f": False, "i": -3, "x": 0.25, "big": 1e300, "s": " as is "}
    expected = {"t": "true", "f": "false", "i": "-3", "x": "0.25", "big": "1e+300", "s": " as is "}
    assert metadata_text(values) == expected


def test_every_record_type_is_covered_here() -> None:
    """A new record type needs its rows and its test."""
    assert {type(record).__name__ for record in samples.RECORDS} == set(RECORD_TYPES)


def rows_input() -> dict[str, object]:
    provenance = as_decoded(samples.DECISION_EVENT)["prompt_provenance"]
    assert isinstance(provenance, dict)
    return provenance
