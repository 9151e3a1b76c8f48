"""ToolCallRecord: one leg of a tool call, with the chain of who called whom."""

from typing import Annotated

from pydantic import Field

from tachograph.schemas.enums import CaptureMode, HookAction, HookStage, Phase, ToolLeg
from tachograph.schemas.models.base import (
    LENIENT,
    ArtifactPointer,
    Content,
    Count,
    Frozen,
    Identifier,
    Metadata,
    Record,
)


class HookOutcome(Frozen):
    """What one hook decided."""

    hook: Annotated[str, Field(min_length=1, max_length=200)]
    stage: HookStage
    action: HookAction
    reason: Annotated[str, Field(max_length=500)] = ""
    modified: bool = False
    """It changed the input (pre) or the output (post)."""
    error_type: Annotated[str, Field(max_length=200)] | None = None
    """It raised or timed out instead of answering."""


class ToolCallRecord(Record):
    """A tool call as the boundary saw it. ``occurred_at`` is the call's timestamp."""

    tool_use_id: Identifier
    tool_name: Identifier
    leg: ToolLeg
    span_id: Identifier | None = None
    step_id: Identifier | None = None
    task_id: Identifier | None = None
    """Task that initiated the call."""
    parent_tool_use_id: Identifier | None = None
    """Call this one is nested in, such as the spawn of a sub-agent."""
    phase: Phase | None = None
    """Part of the task that the call belongs to; null outside of any."""
    depth: Count = 0
    """How deep the call is nested."""
    capture_mode: Annotated[CaptureMode, LENIENT]
    tool_input: Content | None = None
    """JSON text of the input in its capture mode."""
    input_pointer: ArtifactPointer | None = None
    output: Content | None = None
    output_pointer: ArtifactPointer | None = None
    duration_ms: Count | None = None
    error_type: Annotated[str, Field(max_length=200)] | None = None
    error: Content | None = None
    skipped: bool = False
    hooks: tuple[HookOutcome, ...] = ()
    metadata: Metadata = Field(default_factory=dict)
