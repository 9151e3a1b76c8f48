"""DecisionEvent 0.2: one committed action boundary, from the request to the evaluation."""

import re
from datetime import datetime
from typing import Annotated, Final

from pydantic import AliasChoices, Field, computed_field, model_validator

from tachograph.schemas.enums import (
    CODE_ACTIONS,
    ActionType,
    ArtifactType,
    CaptureMode,
    Environment,
    EvaluationStatus,
    Provider,
    Role,
    Severity,
    TransformationType,
)
from tachograph.schemas.models.base import (
    LENIENT,
    ArtifactPointer,
    Content,
    Count,
    Fraction,
    Frozen,
    Identifier,
    JsonAny,
    JsonObject,
    Record,
    Sha256,
    Timestamp,
)
from tachograph.schemas.models.request import Request

SCHEMA_VERSION: Final = "0.2"
_SEMVER_LIKE: Final = re.compile(r"^\d+\.\d+(\.\d+)?([-+][0-9A-Za-z.-]+)?$")


class Session(Frozen):
    """Which agent, in which run of which session."""

    session_id: Identifier
    run_id: Annotated[Identifier, LENIENT]
    agent_id: Identifier
    agent_version: Identifier
    environment: Environment


class Message(Frozen):
    """One message as it was sent."""

    role: Role
    content: Content


class Retrieval(Frozen):
    """Retrieved context as it was sent."""

    enabled: bool
    sources: tuple[str, ...] = ()
    snippets: Content | None = None


class ToolSpec(Frozen):
    """A tool the model was offered. What was available constrains what it could do."""

    name: Identifier
    description: Content | None = None
    schema_: Annotated[JsonObject | None, Field(validation_alias="schema", serialization_alias="schema")] = None


class Transformation(Frozen):
    """A change made to the prompt before it was sent."""

    type: TransformationType
    summary: Content


class PromptBundle(Frozen):
    """The exact effective input of a model call."""

    messages: tuple[Message, ...]
    retrieval: Retrieval
    tools: tuple[ToolSpec, ...] = ()
    transformations: tuple[Transformation, ...] = ()


class Parameters(Frozen):
    """Sampling parameters of the call."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: Count | None = None


class PromptProvenance(Frozen):
    """What the model was given, by whom it was served, and how it was captured."""

    provider: Provider
    model: Identifier
    capture_mode: Annotated[CaptureMode, LENIENT]
    prompt_bundle: Annotated[PromptBundle, LENIENT]
    prompt_bundle_hash: Annotated[Sha256, LENIENT]
    """SHA-256 over the RFC 8785 bytes of the bundle as sent, before redaction or hashing."""
    sent_hash: Sha256 | None = None
    """The same hash taken at the transport, where a wrapper sees the bytes that leave."""
    bundle_pointer: ArtifactPointer | None = None
    """Where the bundle is, if it was too large to be carried inline."""
    parameters: Parameters = Parameters()


class ToolCall(Frozen):
    """A tool invocation that the model asked for."""

    tool_call_id: Identifier
    name: Identifier
    arguments: JsonAny = None
    arguments_pointer: ArtifactPointer | None = None


class Usage(Frozen):
    """Cost of the call."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    latency_ms: Count | None = None


class ModelOutput(Frozen):
    """What the model returned."""

    completion_id: str | None = None
    output_raw: Content | None = None
    """Text, redacted text, or keyed hash, by capture mode."""
    output_pointer: ArtifactPointer | None = None
    output_structured: JsonObject | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()


class ArtifactMetadata(Frozen):
    """The few numbers people filter artifacts by."""

    path: str | None = None
    lines_added: Count | None = None
    lines_removed: Count | None = None
    exit_code: int | None = None


class Artifact(Frozen):
    """Summary of something the agent made or ran."""

    type: ArtifactType
    id: Identifier
    summary: Content
    content: Content | None = None
    """Diff or command string in its capture mode, if small enough to be inline."""
    content_ref: str | None = None
    """Artifact id, if the content is stored."""
    hash: Sha256
    metadata: ArtifactMetadata = ArtifactMetadata()


class ToolResult(Frozen):
    """What a tool gave back to the agent."""

    tool_call_id: Identifier
    name: Identifier
    output: Content | None = None
    output_pointer: ArtifactPointer | None = None
    is_error: bool = False
    duration_ms: Count | None = None


class AgentAction(Frozen):
    """What the agent did at this boundary."""

    action_type: ActionType
    action_summary: Content
    artifacts: tuple[Artifact, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()


class EvaluationViolation(Frozen):
    """One broken constraint, as the agent's own checks saw it."""

    id: Identifier
    severity: Severity
    message: Content
    evidence: Content | None = None


class EvaluationCheck(Frozen):
    """One check and its outcome."""

    id: Identifier
    status: EvaluationStatus
    message: Content = ""


class AlignmentEvaluation(Frozen):
    """Whether it did what was asked, within the constraints."""

    status: EvaluationStatus = EvaluationStatus.UNKNOWN
    score: Fraction | None = None
    violations: tuple[EvaluationViolation, ...] = ()


class CheckedEvaluation(Frozen):
    """Quality or policy: a status and the checks behind it."""

    status: EvaluationStatus = EvaluationStatus.UNKNOWN
    checks: tuple[EvaluationCheck, ...] = ()


class Evaluation(Frozen):
    """Always present; unknown where nothing was checked."""

    alignment: AlignmentEvaluation = AlignmentEvaluation()
    quality: CheckedEvaluation = CheckedEvaluation()
    policy: CheckedEvaluation = CheckedEvaluation()


class DecisionEvent(Record):
    """One action boundary of an agent."""

    occurred_at: Timestamp = Field(validation_alias=AliasChoices("occurred_at", "timestamp"))
    schema_version: str = SCHEMA_VERSION
    span_id: Annotated[Identifier, LENIENT]
    parent_span_id: Identifier | None = None
    step_id: Identifier | None = None
    session: Session
    request: Request
    prompt_provenance: PromptProvenance | None = None
    """Absent where the action had no model call of its own, such as a human override."""
    model_output: ModelOutput | None = None
    agent_action: AgentAction
    evaluation: Annotated[Evaluation, LENIENT]
    overrides_event_id: Identifier | None = None
    """For an override: the event a human set aside."""

    @computed_field  # type: ignore[prop-decorator]  # pydantic's documented form; mypy cannot type it
    @property
    def timestamp(self) -> datetime:
        """The moment of the event under the name that the JSON form of the schema uses."""
        return self.occurred_at

    @model_validator(mode="before")
    @classmethod
    def _accept_own_json(cls, data: object) -> object:
        # The JSON form carries the moment twice: as timestamp and as the envelope's occurred_at.
        if isinstance(data, dict) and "timestamp" in data and "occurred_at" in data:
            return {key: value for key, value in data.items() if key != "timestamp"}
        return data

    @model_validator(mode="after")
    def _is_coherent(self) -> "DecisionEvent":
        if not _SEMVER_LIKE.match(self.schema_version):
            raise ValueError("schema_version looks like a version: digits and dots")
        if self.session.run_id != self.run_id:
            raise ValueError("session.run_id is the run's id")
        if self.session.agent_id != self.agent_id:
            raise ValueError("session.agent_id is the agent's id")
        if (self.prompt_provenance is None) != (self.model_output is None):
            raise ValueError("a model call has both its prompt and its output, an action without one has neither")
        if self.agent_action.action_type in CODE_ACTIONS and not self.agent_action.artifacts:
            raise ValueError("an action that involves code carries artifacts")
        return self
