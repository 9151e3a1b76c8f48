"""Rows as the views of spans and the tables give them."""

from typing import Any

NOW = 1_780_000_000_000_000
"""Some moment in 2026, in microseconds."""

TRACE, SPAN, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "b7ad6b7169203331"


def call_row(**changes: Any) -> dict[str, Any]:
    """A tool call, from call_spans."""
    row = {
        "tenant_id": "acme", "run_id": "run_1", "source_id": "toolu_1", "agent_id": "coder", "agent_version": "",
        "environment": "", "trace_id": TRACE, "span_id": SPAN, "parent_span_id": PARENT,
        "span_name": "execute_tool run_tests", "kind": "Internal", "began_at": NOW, "duration_ms": 250,
        "status_code": "Error", "status_message": "TimeoutError",
        "attributes": {
            "call_spans.operation": "execute_tool", "tool_calls.tool_name": "run_tests",
            "tool_calls.tool_use_id": "toolu_1", "tool_calls.run_id": "run_1", "tool_calls.step_id": "",
        },
    }  # fmt: skip
    return row | changes


def event_row(**changes: Any) -> dict[str, Any]:
    """A model call, from decision_events, with content."""
    row = {
        "tenant_id": "acme", "run_id": "run_1", "trace_id": TRACE, "span_id": SPAN, "agent_id": "coder",
        "agent_version": "7", "environment": "ci", "occurred_at": NOW, "received_at": NOW + 5, "event_id": "ev_1",
        "schema_version": "0.2", "seq": 3, "request_id": "req_1", "channel": "cli", "session_id": "s", "step_id": None,
        "provider": "openai", "model": "gpt-5", "completion_id": "c_1", "temperature": 0.5, "top_p": None,
        "max_tokens": 100, "input_tokens": 12, "output_tokens": 0, "latency_ms": 40, "action_type": "message",
        "capture_mode": "redacted", "prompt_bundle_hash": "a" * 64, "sent_hash": None, "bundle_artifact_id": None,
        "output_artifact_id": None, "alignment_status": "pass", "alignment_score": 1.0, "quality_status": "unknown",
        "policy_status": "pass", "overrides_event_id": None, "user_request_raw": "the request",
        "messages": [{"role": "user", "content": "the prompt"}], "output_raw": "the answer",
        "tool_calls": [{"tool_call_id": "toolu_1", "name": "run_tests", "arguments": "{}"}], "tools": [],
        "action_summary": "the summary",
    }  # fmt: skip
    return row | changes


def violation_row(**changes: Any) -> dict[str, Any]:
    """A violation."""
    row = {
        "tenant_id": "acme", "run_id": "run_1", "trace_id": TRACE, "span_id": SPAN, "agent_id": "coder",
        "occurred_at": NOW, "violation_id": "v_1", "kind": "policy", "code": "policy.no_push", "severity": "critical",
        "message": "pushed to main", "evidence": "the evidence", "constraint_id": None, "verdict": "fail",
        "action": "none", "event_id": "ev_1", "step_id": None, "tool_use_id": None, "sample_event_ids": ["a", "b"],
    }  # fmt: skip
    return row | changes
