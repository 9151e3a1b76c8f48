"""What a run report is made of. The shape is documented in docs/report.md and published as docs/report.schema.json.

Texts that an agent wrote or saw are ``Content``: they are as they were captured (full, redacted or hashed), never more.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Final, Literal

from pydantic import ConfigDict

from tachograph.console.report.records import Record

SCHEMA_VERSION: Final = "1.0"
"""Minor: fields were added. Major: a field changed its meaning or went away."""

Tone = Literal["ok", "warn", "fail", "info"]
"""How an entry is marked: it went well, look at it, it went wrong, or neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Something an agent wrote or saw, in its capture mode."""

    text: str | None
    """As captured; None if it was not captured, is stored elsewhere, or was left out of this report."""
    mode: str
    """full, redacted or hashed; empty if the producer forgot to say."""
    artifact_id: str | None = None
    """Where it is stored, if it was too large for a row."""
    characters: int | None = None
    """Length of the text, also where the text was left out of this report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Who ran, how it ended, and how much happened."""

    headline: str
    """The run in one sentence."""
    run_id: str
    trace_id: str
    session_id: str
    tenant_id: str
    agent_id: str
    agent_version: str
    environment: str
    status: str
    """running, succeeded, failed, aborted or SYSTEM_ERROR."""
    capture_mode: str
    """Default capture mode of the run."""
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: int | None
    error_type: str | None
    """Class of the error that ended it."""
    parent_run_id: str | None
    worst_severity: str | None
    """Of the violations; None without one."""
    counts: dict[str, int]
    """Steps, model calls, actions, tool calls, tool errors, decisions, signals, violations, faults, snapshots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """Something the request asked for, and what the stream made of it."""

    id: str
    type: str
    rule: str
    status: str
    """Worst answer of its checks: fail, warn, unknown, pass; unchecked if no check had to do with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the agent was asked to do."""

    request_id: str
    text: Content
    channel: str
    repo: str | None
    branch: str | None
    ticket_id: str | None
    constraints: tuple[Constraint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """One thing that happened. The timeline is in the order of time."""

    at: datetime
    offset_ms: int
    """Since the run's start; below 0 if the producer's clock says so."""
    kind: str
    """run, step, model_call, tool_call, action, override, decision, signal, fault, proposal or violation."""
    title: str
    detail: str
    """Numbers and codes; no captured content."""
    tone: Tone
    depth: int
    """How deep it is nested, by steps and by tool calls."""
    duration_ms: int | None = None
    event_id: str | None = None
    step_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of the run."""

    step_id: str
    parent_step_id: str | None
    step_type: str
    name: str
    status: str
    """running while no end was seen."""
    started_at: datetime
    duration_ms: int | None
    error_type: str | None
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of a prompt."""

    role: str
    content: Content


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTool:
    """A tool call that a model asked for."""

    tool_call_id: str
    name: str
    arguments: Content


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """A prompt as it was sent, and what came back."""

    event_id: str
    at: datetime
    step_id: str | None
    provider: str
    model: str
    capture_mode: str
    prompt_bundle_hash: str
    bundle_artifact_id: str | None
    sent_as_recorded: bool | None
    """Whether the hash taken at the transport is the bundle's; None if none was taken."""
    messages: tuple[Message, ...]
    tools_offered: tuple[str, ...]
    retrieval_sources: tuple[str, ...]
    transformations: tuple[str, ...]
    parameters: dict[str, float]
    output: Content
    asked: tuple[AskedTool, ...]
    input_tokens: int | None
    output_tokens: int | None
    latency_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeArtifact:
    """What an action made or ran."""

    type: str
    id: str
    summary: str
    path: str | None
    content: Content
    hash: str
    lines_added: int | None
    lines_removed: int | None
    exit_code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Alignment, quality and policy: what the agent said of itself, and what the stream said."""

    by_agent: dict[str, str]
    by_stream: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action boundary: what the agent did, and how it was judged."""

    event_id: str
    at: datetime
    step_id: str | None
    action_type: str
    summary: str
    artifacts: tuple[MadeArtifact, ...]
    judged: Judged
    overrides_event_id: str | None
    """The event that a person set aside with this one."""
    overridden_by: str | None
    """The event with which a person set this one aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookVerdict:
    """What a hook decided about a tool call."""

    hook: str
    stage: str
    action: str
    reason: str
    modified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call, joined from its legs, with who called whom."""

    tool_use_id: str
    tool_name: str
    state: str
    """ok, failed, skipped, aborted, or lost if a leg never came."""
    task_id: str | None
    phase: str
    parent_tool_use_id: str | None
    attribution: tuple[str, ...]
    """Calls it is nested in, outermost first."""
    depth: int
    step_id: str | None
    asked_by_model: bool
    requested_event_id: str | None
    at: datetime
    duration_ms: int | None
    input: Content
    output: Content
    error_type: str | None
    hooks: tuple[HookVerdict, ...]
    complete: bool
    missing: tuple[str, ...]
    """Legs that never came: pre, post, result."""
    closed_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A point where the agent chose."""

    decision_id: str
    at: datetime
    step_id: str | None
    decision_type: str
    selected: str
    candidates: tuple[str, ...]
    reason_code: str
    confidence: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """An atomic fact, correlated with the quality of outcomes."""

    signal_id: str
    at: datetime
    step_id: str | None
    signal_type: str
    signal_code: str
    value: bool
    weight: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """Something that was in a context, or was considered and left out."""

    item_id: str
    item_type: str
    source_ref: str | None
    reason: str
    tokens: int | None
    score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContext:
    """What one step's context was made of."""

    step_id: str
    step_name: str
    token_limit: int
    tokens_used: int
    tokens_by_source: dict[str, int]
    included: tuple[ContextItem, ...]
    excluded: tuple[ContextItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What went in, what stayed out."""

    tokens_by_source: dict[str, int]
    """Over all steps."""
    steps: tuple[StepContext, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A broken promise."""

    violation_id: str
    kind: str
    code: str
    severity: str
    message: str
    evidence: str | None
    verdict: str
    action: str
    constraint_id: str | None
    at: datetime
    event_id: str | None
    step_id: str | None
    tool_use_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopViolation:
    """All violations with one code."""

    code: str
    kind: str
    severity: str
    count: int
    message: str
    """Of the first of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that went wrong in the agent or its recorder."""

    event_id: str
    at: datetime
    kind: str
    """agent_failure or events_dropped."""
    step_id: str | None
    trigger: str
    """What asked for a snapshot; empty if nothing did."""
    error_type: str
    message: Content
    tool_use_id: str | None
    missing_pointer: str | None
    dropped: int
    drop_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Bytes that a fault kept, or that should have been kept."""

    snapshot_id: str
    at: datetime
    step_id: str | None
    kind: str
    trigger: str
    stored: bool
    artifact_id: str | None
    size_bytes: int | None
    hash: str | None
    deleted_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completeness:
    """Whether everything that was counted arrived."""

    state: str
    """complete, incomplete, or open while the run goes on."""
    emitted: int | None
    received: int
    dropped: int | None
    repeats: int | None
    tool_calls: int | None
    tool_calls_joined: int | None
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCost:
    """What one model was used for."""

    provider: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    latency_ms: int
    usd: str | None
    """Exact decimal; None if the model has no price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What the run used."""

    input_tokens: int
    output_tokens: int
    tool_calls: int
    tool_ms: int
    duration_ms: int | None
    usd: str | None
    """Exact decimal over all models; None if one of them has no price."""
    by_model: tuple[ModelCost, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """Everything a person asks about one run."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(use_attribute_docstrings=True)

    schema_version: str
    generated_at: datetime
    summary: Summary
    request: Request
    top_violations: tuple[TopViolation, ...]
    """By severity, then by number."""
    timeline: tuple[TimelineEntry, ...]
    steps: tuple[Step, ...]
    model_calls: tuple[ModelCall, ...]
    actions: tuple[Action, ...]
    tool_calls: tuple[ToolCall, ...]
    decisions: tuple[Decision, ...]
    signals: tuple[Signal, ...]
    context: Context
    violations: tuple[Violation, ...]
    """By severity, then by time."""
    faults: tuple[Fault, ...]
    snapshots: tuple[Snapshot, ...]
    completeness: Completeness
    records: tuple[Record, ...]
    cost: Cost
