"""Rows of agent_runs and agent_steps."""

from typing import Any

from tachograph.processors.rows.shared import Record, Row, Rows, identity, metadata_text, request_columns
from tachograph.processors.state import RunState


def run_started(record: Record, append_time: int) -> Rows:
    """The run begins. It is its first record, so one was received."""
    return [
        (
            "agent_runs",
            identity(record, append_time)
            | request_columns(record["request"])
            | {
                "event_type": "run_started",
                "session_id": record["session_id"],
                "agent_version": record["agent_version"],
                "environment": record["environment"],
                "capture_mode": record["capture_mode"],
                "status": "running",
                "parent_run_id": record["parent_run_id"],
                "sdk": record["sdk"],
                "started_at": record["occurred_at"],
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
                "metadata": metadata_text(record["metadata"]),
                "tool_calls": None,
                "tool_calls_joined": None,
                "repeats": None,
            },
        )
    ]


def run_ended(record: Record, append_time: int) -> Rows:
    """Nothing yet; but what the row will need is there, or this raises."""
    run_ended_row(record, append_time, RunState())
    return []


def run_ended_row(record: Record, append_time: int, state: RunState) -> Row:
    """The run ends: its count is compared with what arrived, this record included.

    Facts of the start are repeated from the state; the request's text and constraints are not, because they are
    content and the state stays small. They are in the row of the start.
    """
    missing = _missing(record["emitted"], max(record["dropped"], state.dropped), state)
    return (
        identity(record, append_time)
        | _facts(state)
        | {
            "event_type": "run_ended",
            "status": record["status"],
            "ended_at": record["occurred_at"],
            "duration_ms": record["duration_ms"],
            "emitted": record["emitted"],
            "dropped": record["dropped"],
            "input_tokens": record["input_tokens"],
            "output_tokens": record["output_tokens"],
            "error_type": record["error_type"],
            "completeness": "incomplete" if missing else "complete",
            "missing": missing,
            "metadata": metadata_text(record["metadata"]),
        }
    )


def run_silent_row(state: RunState) -> Row:
    """The run fell silent without an end. Everything is as its last record left it."""
    return _facts(state) | {
        "tenant_id": state.tenant_id,
        "agent_id": state.agent_id,
        "run_id": state.run_id,
        "trace_id": state.trace_id,
        "event_id": state.last_event_id,
        "seq": state.last_seq,
        "occurred_at": state.last_occurred_at,
        "received_at": state.last_append_time,
        "event_type": "run_silent",
        "status": "",
        "ended_at": None,
        "duration_ms": None,
        "emitted": None,
        "dropped": state.dropped,
        "input_tokens": None,
        "output_tokens": None,
        "error_type": None,
        "completeness": "incomplete",
        "missing": ["the record of its end", *_missing(state.last_seq + 1, state.dropped, state)],
        "metadata": {},
    }


def _facts(state: RunState) -> dict[str, Any]:
    return {
        "session_id": state.session_id,
        "agent_version": state.agent_version,
        "environment": state.environment,
        "capture_mode": state.capture_mode,
        "request_id": state.request_id,
        "user_request_raw": "",
        "constraints": [],
        "channel": state.channel,
        "repo": state.repo,
        "branch": state.branch,
        "ticket_id": state.ticket_id,
        "parent_run_id": state.parent_run_id,
        "sdk": state.sdk,
        "started_at": state.started_at,
        "received": state.received,
        "tool_calls": state.tool_calls,
        "tool_calls_joined": state.tool_calls_joined,
        "repeats": state.repeats,
    }


def _missing(emitted: int, dropped: int, state: RunState) -> list[str]:
    missing = []
    if state.started_at is None:
        missing.append("the record of its start")
    absent = state.seqs.missing(emitted)
    if absent > 0:
        missing.append(f"{absent} of {emitted} records")
    if state.received > emitted:
        missing.append(f"an explanation: {state.received} records arrived, {emitted} were emitted")
    if dropped:
        missing.append(f"{dropped} records that the recorder dropped")
    if state.results_missing:
        missing.append(f"results of {state.results_missing} tool calls")
    return missing


def step_started(record: Record, append_time: int) -> Rows:
    """A step begins."""
    return [
        (
            "agent_steps",
            identity(record, append_time)
            | {
                "event_type": "step_started",
                "step_id": record["step_id"],
                "parent_step_id": record["parent_step_id"],
                "span_id": record["span_id"],
                "parent_span_id": record["parent_span_id"],
                "step_type": record["step_type"],
                "name": record["name"],
                "status": "",
                "duration_ms": None,
                "error_type": None,
                "metadata": metadata_text(record["metadata"]),
            },
        )
    ]


def step_ended(record: Record, append_time: int) -> Rows:
    """A step ends. What it is called is in the row of its start."""
    return [
        (
            "agent_steps",
            identity(record, append_time)
            | {
                "event_type": "step_ended",
                "step_id": record["step_id"],
                "parent_step_id": None,
                "span_id": "",
                "parent_span_id": None,
                "step_type": "",
                "name": "",
                "status": record["status"],
                "duration_ms": record["duration_ms"],
                "error_type": record["error_type"],
                "metadata": metadata_text(record["metadata"]),
            },
        )
    ]
