"""The frame of a run: it starts, has steps, may fail, ends, and counts what it lost."""

from typing import Annotated

from pydantic import Field, model_validator

from tachograph.schemas.enums import (
    CaptureMode,
    DropReason,
    Environment,
    FaultTrigger,
    RunStatus,
    StepStatus,
)
from tachograph.schemas.models.base import ArtifactPointer, Content, Count, Identifier, Metadata, Record
from tachograph.schemas.models.request import Request


class RunStarted(Record):
    """First record of a run: who runs, where, and what was asked."""

    session_id: Identifier
    agent_version: Identifier
    environment: Environment = Environment.UNKNOWN
    capture_mode: CaptureMode
    """Default capture mode of the run; each model call states its own."""
    request: Request
    parent_run_id: Identifier | None = None
    """The run that spawned this one, for sub-agents."""
    sdk: Annotated[str, Field(max_length=100)] = ""
    """Name and version of what emitted it."""
    metadata: Metadata = Field(default_factory=dict)


class StepStarted(Record):
    """A step begins. Steps nest."""

    step_id: Identifier
    parent_step_id: Identifier | None = None
    span_id: Identifier
    parent_span_id: Identifier | None = None
    step_type: Annotated[str, Field(min_length=1, max_length=64)]
    """Free word: plan, tool, retrieve, validate, ..."""
    name: Annotated[str, Field(min_length=1, max_length=200)]
    metadata: Metadata = Field(default_factory=dict)


class StepEnded(Record):
    """A step ends."""

    step_id: Identifier
    status: StepStatus
    duration_ms: Count
    error_type: Annotated[str, Field(max_length=200)] | None = None
    """Class of the error that ended it; its text is content and lives in AgentFailure."""
    metadata: Metadata = Field(default_factory=dict)


class AgentFailure(Record):
    """Something went wrong. If it is a fault, it says which trigger and where the snapshot is."""

    failure_id: Identifier
    step_id: Identifier | None = None
    span_id: Identifier | None = None
    error_type: Annotated[str, Field(min_length=1, max_length=200)]
    message: Content = ""
    """Text of the error, in the run's capture mode."""
    trigger: FaultTrigger | None = None
    tool_use_id: Identifier | None = None
    snapshots: tuple[ArtifactPointer, ...] = ()
    capture_ids: tuple[Identifier, ...] = ()
    """Ids of encrypted captures that hold the raw bytes of this step."""
    missing_pointer: str | None = None
    """What could not be resolved or stored."""
    metadata: Metadata = Field(default_factory=dict)


class RunEnded(Record):
    """Last record of a run. ``emitted`` counts every record of the run, this one included."""

    status: RunStatus
    emitted: Annotated[int, Field(ge=1)]
    dropped: Count = 0
    duration_ms: Count
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    error_type: Annotated[str, Field(max_length=200)] | None = None
    metadata: Metadata = Field(default_factory=dict)

    @model_validator(mode="after")
    def _counts_itself(self) -> "RunEnded":
        if self.status is RunStatus.RUNNING:
            raise ValueError("a run that ended is not running")
        if self.emitted != self.seq + 1:
            raise ValueError("emitted counts every seq from 0 up to this record's own")
        return self


class EventsDropped(Record):
    """The recorder lost records of this run, and says so."""

    count: Annotated[int, Field(ge=1)]
    reason: DropReason
    first_at: Annotated[str, Field(max_length=64)] | None = None
    """When the first of them was dropped, RFC 3339."""
    record_types: tuple[str, ...] = ()
    """Which types were among them."""
