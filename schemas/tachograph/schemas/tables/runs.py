"""Tables of what agents say about their runs."""

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
)
from tachograph.schemas.tables.shared import IDENTITY, METADATA_COLUMN, REQUEST

AGENT_RUNS: Final = Table(
    "agent_runs",
    "Changes of a run's state, one row each. The view runs has one row per run.",
    (
        *IDENTITY,
        Column("event_type", WORD, "run_started, run_ended, or run_silent if it stopped without an end."),
        Column("session_id", TEXT, "Session of the run."),
        Column("agent_version", WORD, "Version of the agent."),
        Column("environment", WORD, "local, ci, staging, prod or unknown."),
        Column("capture_mode", WORD, "Default capture mode of the run."),
        Column("status", WORD, "running, succeeded, failed, aborted or SYSTEM_ERROR."),
        *REQUEST,
        Column("parent_run_id", MAYBE_TEXT, "Run that spawned this one."),
        Column("sdk", WORD, "What emitted the record."),
        Column("started_at", MAYBE_TIME, "When the run started."),
        Column("ended_at", MAYBE_TIME, "When the run ended."),
        Column("duration_ms", MAYBE_NUMBER, "How long it took."),
        Column("emitted", MAYBE_NUMBER, "Records the producer counted, the last one included."),
        Column("received", NUMBER, "Records the worker has seen of the run so far."),
        Column("dropped", MAYBE_NUMBER, "Records the producer says it lost."),
        Column("input_tokens", MAYBE_NUMBER, "Tokens sent to models."),
        Column("output_tokens", MAYBE_NUMBER, "Tokens received from models."),
        Column("error_type", MAYBE_TEXT, "Class of the error that ended it."),
        Column("completeness", WORD, "complete, incomplete, or open while the run goes on."),
        Column("missing", TEXTS, "What is missing, in words."),
        METADATA_COLUMN,
        Column("tool_calls", MAYBE_NUMBER, "Tool calls of the run."),
        Column("tool_calls_joined", MAYBE_NUMBER, "Those of which every leg arrived."),
        Column("repeats", MAYBE_NUMBER, "Records that arrived more than once and were counted once."),
    ),
)

AGENT_STEPS: Final = Table(
    "agent_steps",
    "Starts and ends of steps, one row each. The view steps has one row per step.",
    (
        *IDENTITY,
        Column("event_type", WORD, "step_started or step_ended."),
        Column("step_id", TEXT, "Step."),
        Column("parent_step_id", MAYBE_TEXT, "Step it is nested in."),
        Column("span_id", TEXT, "Span of the step."),
        Column("parent_span_id", MAYBE_TEXT, "Span it is nested in."),
        Column("step_type", WORD, "plan, tool, retrieve, validate, or the agent's own word."),
        Column("name", TEXT, "Name of the step."),
        Column("status", WORD, "How it ended."),
        Column("duration_ms", MAYBE_NUMBER, "How long it took."),
        Column("error_type", MAYBE_TEXT, "Class of the error that ended it."),
        METADATA_COLUMN,
    ),
)

AGENT_FAILURES: Final = Table(
    "agent_failures",
    "What went wrong in agents, and what their recorders lost.",
    (
        *IDENTITY,
        Column("failure_id", TEXT, "Failure."),
        Column("kind", WORD, "agent_failure or events_dropped."),
        Column("step_id", MAYBE_TEXT, "Step it happened in."),
        Column("span_id", MAYBE_TEXT, "Span it happened in."),
        Column("error_type", WORD, "Class of the error."),
        Column("message", TEXT, "Its text, in the run's capture mode."),
        Column("trigger", WORD, "Fault trigger, empty if it was none."),
        Column("tool_use_id", MAYBE_TEXT, "Tool call that failed."),
        Column("snapshot_artifact_ids", TEXTS, "Stored snapshots of the step."),
        Column("capture_ids", TEXTS, "Encrypted captures of the step."),
        Column("missing_pointer", MAYBE_TEXT, "What could not be resolved or stored."),
        Column("dropped", NUMBER, "Records lost."),
        Column("drop_reason", WORD, "Why they were lost."),
        Column("dropped_types", TEXTS, "Types among them."),
        METADATA_COLUMN,
    ),
)

AGENT_DECISIONS: Final = Table(
    "agent_decisions",
    "Points where an agent chose between options.",
    (
        *IDENTITY,
        Column("decision_id", TEXT, "Decision."),
        Column("step_id", MAYBE_TEXT, "Step it was made in."),
        Column("decision_type", WORD, "Kind of choice."),
        Column("selected", TEXT, "Option chosen."),
        Column("reason_code", WORD, "Coded reason."),
        Column("candidates", TEXTS, "Options considered."),
        Column("confidence", MAYBE_FLOAT, "Between 0 and 1."),
        METADATA_COLUMN,
    ),
)

AGENT_QUALITY_SIGNALS: Final = Table(
    "agent_quality_signals",
    "Atomic facts correlated with the quality of outcomes.",
    (
        *IDENTITY,
        Column("signal_id", TEXT, "Signal."),
        Column("step_id", MAYBE_TEXT, "Step it was seen in."),
        Column("signal_type", WORD, "Kind of fact."),
        Column("signal_code", WORD, "The fact."),
        Column("value", FLAG, "Whether it holds."),
        Column("weight", MAYBE_FLOAT, "Between 0 and 1."),
        METADATA_COLUMN,
        Column("record_id", MAYBE_TEXT, "Decision record that the fact is about."),
    ),
)
