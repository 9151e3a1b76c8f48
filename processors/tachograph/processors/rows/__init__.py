"""From every record type to the rows of its tables, by hand: these run once per record."""

from collections.abc import Callable, Mapping
from typing import Final

from tachograph.processors.rows.context import context_manifest
from tachograph.processors.rows.events import decision_event, tool_call_record
from tachograph.processors.rows.failures import agent_failure, events_dropped
from tachograph.processors.rows.observations import agent_decision, agent_quality_signal
from tachograph.processors.rows.records import record_proposal
from tachograph.processors.rows.runs import run_ended, run_started, step_ended, step_started
from tachograph.processors.rows.shared import Record, Rows

ROWS_BY_TYPE: Final[Mapping[str, Callable[[Record, int], Rows]]] = {
    "RunStarted": run_started,
    "StepStarted": step_started,
    "DecisionEvent": decision_event,
    "ToolCallRecord": tool_call_record,
    "AgentDecision": agent_decision,
    "AgentQualitySignal": agent_quality_signal,
    "ContextManifest": context_manifest,
    "RecordProposal": record_proposal,
    "AgentFailure": agent_failure,
    "StepEnded": step_ended,
    "EventsDropped": events_dropped,
    "RunEnded": run_ended,
}
"""Every record type. The row of a run's end needs the state of the run, and follows when all else is settled."""

__all__ = ["ROWS_BY_TYPE", "Record", "Rows"]
