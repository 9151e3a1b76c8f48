"""Tables of action boundaries and tool calls."""

from typing import Final

from tachograph.schemas.tables.kinds import (
    FLAG,
    MAYBE_FLOAT,
    MAYBE_NUMBER,
    MAYBE_TEXT,
    MAYBE_TIME,
    NUMBER,
    TEXT,
    TEXTS,
    WORD,
    Column,
    Table,
    rows_of,
)
from tachograph.schemas.tables.shared import IDENTITY, METADATA_COLUMN, REQUEST


def _checks(name: str, comment: str, *more: Column) -> Column:
    return Column(
        f"{name}_checks",
        rows_of(
            f"{name.capitalize()}Check",
            Column("id", TEXT, "Check id."),
            Column("status", WORD, "pass, warn, fail or unknown."),
            Column("message", TEXT, "What the check said."),
            *more,
        ),
        comment,
    )


def _own_checks(name: str) -> Column:
    return _checks(name, f"Checks behind the agent's own {name} status.")


def _stream_checks(name: str) -> Column:
    return _checks(
        name,
        f"Checks behind the {name} status.",
        Column("constraint_id", MAYBE_TEXT, "Constraint of the request that asked for it."),
    )


DECISION_EVENTS: Final = Table(
    "decision_events",
    "Action boundaries: request, prompt bundle, output, action and evaluation.",
    (
        *IDENTITY,
        Column("schema_version", WORD, "Version of the DecisionEvent schema."),
        Column("span_id", TEXT, "Span of the event."),
        Column("parent_span_id", MAYBE_TEXT, "Span it is nested in."),
        Column("step_id", MAYBE_TEXT, "Step it happened in."),
        Column("session_id", TEXT, "Session of the run."),
        Column("agent_version", WORD, "Version of the agent."),
        Column("environment", WORD, "local, ci, staging, prod or unknown."),
        *REQUEST,
        Column("provider", WORD, "Who served the model; empty if no model was called."),
        Column("model", WORD, "Model."),
        Column("capture_mode", WORD, "full, redacted or hashed; empty if the producer forgot it."),
        Column("prompt_bundle_hash", TEXT, "SHA-256 of the canonical bundle as sent."),
        Column("sent_hash", MAYBE_TEXT, "The same hash taken at the transport."),
        Column("bundle_artifact_id", MAYBE_TEXT, "Where the bundle is, if it was too large."),
        Column(
            "messages",
            rows_of(
                "Message",
                Column("role", WORD, "Author."),
                Column("content", TEXT, "Text in its capture mode."),
            ),
            "Messages as sent.",
        ),
        Column("retrieval_enabled", FLAG, "Whether context was retrieved."),
        Column("retrieval_sources", TEXTS, "Where from."),
        Column("retrieval_snippets", MAYBE_TEXT, "What, in its capture mode."),
        Column(
            "tools",
            rows_of(
                "ToolSpec",
                Column("name", WORD, "Tool."),
                Column("description", MAYBE_TEXT, "Its description."),
                Column("schema", MAYBE_TEXT, "Its JSON schema."),
            ),
            "Tools the model was offered.",
        ),
        Column(
            "transformations",
            rows_of(
                "Transformation",
                Column("type", WORD, "template, rewrite, summarize or other."),
                Column("summary", TEXT, "What was changed."),
            ),
            "Changes made to the prompt before it was sent.",
        ),
        Column("temperature", MAYBE_FLOAT, "Sampling temperature."),
        Column("top_p", MAYBE_FLOAT, "Nucleus sampling."),
        Column("max_tokens", MAYBE_NUMBER, "Limit on output tokens."),
        Column("completion_id", MAYBE_TEXT, "Provider's id of the completion."),
        Column("output_raw", MAYBE_TEXT, "Output in its capture mode."),
        Column("output_artifact_id", MAYBE_TEXT, "Where the output is, if it was too large."),
        Column("output_structured", MAYBE_TEXT, "Structured output as JSON text."),
        Column(
            "tool_calls",
            rows_of(
                "ToolCall",
                Column("tool_call_id", TEXT, "Call."),
                Column("name", WORD, "Tool."),
                Column("arguments", TEXT, "Arguments as JSON text."),
            ),
            "Tool calls the model asked for.",
        ),
        Column("input_tokens", MAYBE_NUMBER, "Tokens sent."),
        Column("output_tokens", MAYBE_NUMBER, "Tokens received."),
        Column("latency_ms", MAYBE_NUMBER, "How long the model took."),
        Column("action_type", WORD, "What the agent did."),
        Column("action_summary", TEXT, "In words."),
        Column(
            "artifacts",
            rows_of(
                "Artifact",
                Column("type", WORD, "file_edit, command, test_run, pr, commit or diff."),
                Column("id", TEXT, "Artifact."),
                Column("summary", TEXT, "In words."),
                Column("content", MAYBE_TEXT, "Diff or command in its capture mode."),
                Column("content_ref", MAYBE_TEXT, "Artifact id of the content."),
                Column("hash", TEXT, "SHA-256 of the content."),
                Column("path", MAYBE_TEXT, "File."),
                Column("lines_added", MAYBE_NUMBER, "Lines added."),
                Column("lines_removed", MAYBE_NUMBER, "Lines removed."),
                Column("exit_code", MAYBE_NUMBER, "Exit code."),
            ),
            "What the agent made or ran.",
        ),
        Column(
            "tool_results",
            rows_of(
                "ToolResult",
                Column("tool_call_id", TEXT, "Call."),
                Column("name", WORD, "Tool."),
                Column("output", MAYBE_TEXT, "Result in its capture mode."),
                Column("output_artifact_id", MAYBE_TEXT, "Where the result is, if it was too large."),
                Column("is_error", FLAG, "Whether the tool failed."),
                Column("duration_ms", MAYBE_NUMBER, "How long it took."),
            ),
            "Results handed to the agent.",
        ),
        Column("alignment_status", WORD, "Agent's own alignment status; empty if it sent no evaluation."),
        Column("alignment_score", MAYBE_FLOAT, "Between 0 and 1."),
        Column(
            "alignment_violations",
            rows_of(
                "AlignmentViolation",
                Column("id", TEXT, "Constraint that was broken."),
                Column("severity", WORD, "How bad."),
                Column("message", TEXT, "What was broken."),
                Column("evidence", MAYBE_TEXT, "Redacted excerpt or pointer."),
            ),
            "Violations the agent's own checks saw.",
        ),
        Column("quality_status", WORD, "Agent's own quality status; empty if it sent no evaluation."),
        _own_checks("quality"),
        Column("policy_status", WORD, "Agent's own policy status; empty if it sent no evaluation."),
        _own_checks("policy"),
        Column("overrides_event_id", MAYBE_TEXT, "Event that a human set aside."),
    ),
)

TOOL_CALLS: Final = Table(
    "tool_calls",
    "Tool calls, with who called whom.",
    (
        *IDENTITY,
        Column("tool_use_id", TEXT, "Call."),
        Column("tool_name", WORD, "Tool."),
        Column("leg", WORD, "call; or pre, post or result for a leg that came too late or twice to be joined."),
        Column("span_id", MAYBE_TEXT, "Span of the call."),
        Column("step_id", MAYBE_TEXT, "Step it was made in."),
        Column("task_id", MAYBE_TEXT, "Task that initiated it."),
        Column("parent_tool_use_id", MAYBE_TEXT, "Call it is nested in."),
        Column("phase", WORD, "planning, execution, validation, fix, or the agent's own word."),
        Column("depth", NUMBER, "How deep it is nested."),
        Column("capture_mode", WORD, "full, redacted or hashed; empty if the producer forgot it."),
        Column("tool_input", MAYBE_TEXT, "Input as JSON text in its capture mode."),
        Column("input_artifact_id", MAYBE_TEXT, "Where the input is, if it was too large."),
        Column("output", MAYBE_TEXT, "Output in its capture mode."),
        Column("output_artifact_id", MAYBE_TEXT, "Where the output is, if it was too large."),
        Column("duration_ms", MAYBE_NUMBER, "How long it took."),
        Column("error_type", MAYBE_TEXT, "Class of the error it raised."),
        Column("error", MAYBE_TEXT, "Text of the error in its capture mode."),
        Column("skipped", FLAG, "A hook skipped it."),
        Column(
            "hooks",
            rows_of(
                "HookOutcome",
                Column("hook", WORD, "Hook."),
                Column("stage", WORD, "pre or post."),
                Column("action", WORD, "continue, skip or abort."),
                Column("reason", TEXT, "Why."),
                Column("modified", FLAG, "Whether it changed the input or output."),
                Column("error_type", MAYBE_TEXT, "Class of the error it raised instead."),
            ),
            "What each hook decided.",
        ),
        METADATA_COLUMN,
        Column("event_ids", TEXTS, "Records that the row was joined from.", []),
        Column("requested", FLAG, "A model asked for the call.", default=False),
        Column("requested_event_id", MAYBE_TEXT, "Event in which it did."),
        Column("arguments", MAYBE_TEXT, "What the model asked for, as JSON text in its capture mode."),
        Column("requested_at", MAYBE_TIME, "When the model asked for it."),
        Column("started_at", MAYBE_TIME, "When the pre-hooks had run."),
        Column("finished_at", MAYBE_TIME, "When the post-hooks had run."),
        Column("handed_at", MAYBE_TIME, "When the agent had the result."),
        Column("latency_ms", MAYBE_NUMBER, "From the request, or else the start, to the result."),
        Column("attribution", TEXTS, "Calls it is nested in, outermost first.", []),
        Column("hook_action", WORD, "Strongest hook outcome: abort, skip or continue; empty without hooks.", ""),
        Column("result_is_error", FLAG, "The tool failed.", default=False),
        Column("complete", FLAG, "Every leg is there.", default=False),
        Column("missing", TEXTS, "Legs that are not: pre, post, result.", []),
        Column("closed_by", WORD, "joined, run_ended, timeout, silence or bound; empty for a lone leg.", ""),
    ),
)

EVALUATIONS: Final = Table(
    "evaluations",
    "What the stream made of each action boundary, beside what the agent said of itself.",
    (
        *IDENTITY,
        Column("step_id", MAYBE_TEXT, "Step it happened in."),
        Column("action_type", WORD, "What the agent did."),
        Column("capture_mode", WORD, "full, redacted or hashed; hashed content cannot be judged."),
        Column("alignment_status", WORD, "pass, warn, fail or unknown."),
        Column("alignment_score", MAYBE_FLOAT, "Share of decided checks that passed."),
        _stream_checks("alignment"),
        Column("quality_status", WORD, "pass, warn, fail or unknown."),
        Column("quality_score", MAYBE_FLOAT, "Share of decided checks that passed."),
        _stream_checks("quality"),
        Column("policy_status", WORD, "pass, warn, fail or unknown."),
        Column("policy_score", MAYBE_FLOAT, "Share of decided checks that passed."),
        _stream_checks("policy"),
        Column("rules", WORD, "Rule packs and versions that were in force."),
    ),
)
