from tachograph.schemas.models.base import ArtifactPointer, Frozen, Record
from tachograph.schemas.models.decision_event import DecisionEvent, PromptBundle
from tachograph.schemas.models.derived import Checkpoint, ContentView, DeadLetter, ReplayResult, Snapshot, Violation
from tachograph.schemas.models.manifest import ContextManifest
from tachograph.schemas.models.observations import AgentDecision, AgentQualitySignal
from tachograph.schemas.models.record import DecisionRecord, RecordProposal
from tachograph.schemas.models.run import AgentFailure, EventsDropped, RunEnded, RunStarted, StepEnded, StepStarted
from tachograph.schemas.models.tool_call import ToolCallRecord

__all__ = [
    "AgentDecision",
    "AgentFailure",
    "AgentQualitySignal",
    "ArtifactPointer",
    "Checkpoint",
    "ContentView",
    "ContextManifest",
    "DeadLetter",
    "DecisionEvent",
    "DecisionRecord",
    "EventsDropped",
    "Frozen",
    "PromptBundle",
    "Record",
    "RecordProposal",
    "ReplayResult",
    "RunEnded",
    "RunStarted",
    "Snapshot",
    "StepEnded",
    "StepStarted",
    "ToolCallRecord",
    "Violation",
]
