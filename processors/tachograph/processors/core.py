"""The pure core: one record and the state of its run in, rows out. No I/O, and no clock but the record's.

Called by the worker, by tests and by replay. Given the same state and record it gives the same outputs, which is what
lets a restarted worker repeat itself without anybody noticing.
"""

from typing import Any, NamedTuple

from tachograph.processors.rows import ROWS_BY_TYPE
from tachograph.processors.rows.runs import run_ended_row
from tachograph.processors.state import RunState
from tachograph.schemas.topics import row_topic


class Incoming(NamedTuple):
    """A decoded record and where it was read."""

    name: str
    """Record type."""
    record: dict[str, Any]
    """As the codec gives it: plain values, times in microseconds."""
    partition: int
    offset: int
    append_time: int
    """When the broker appended it, in microseconds since 1970."""


class Output(NamedTuple):
    """A message to write."""

    topic: str
    key: str
    """The run's trace id; empty if the producer named none."""
    schema: str
    row: dict[str, Any]


def process(state: RunState, incoming: Incoming) -> list[Output]:
    """Apply one record to the state of its run. A repeat gives nothing and changes nothing.

    If it raises, the state is as it was: the record can be dead-lettered and the run goes on.
    """
    if state.holds(incoming.offset):
        return []
    name, record, _, offset, append_time = incoming
    key = record["trace_id"] or ""
    if name == "RunEnded":
        rows = [("agent_runs", run_ended_row(record, append_time, state))]
    else:
        rows = ROWS_BY_TYPE[name](record, append_time)
    outputs = [Output(row_topic(table), key, f"rows.{table}", row) for table, row in rows]
    _remember(state, name, record)
    state.received += 1
    state.last_offset = offset
    state.last_append_time = append_time
    return outputs


def _remember(state: RunState, name: str, record: dict[str, Any]) -> None:
    if name == "RunStarted":
        request = record["request"]
        context = request["context"]
        state.started_at = record["occurred_at"]
        state.session_id = record["session_id"]
        state.agent_version = record["agent_version"]
        state.environment = record["environment"]
        state.capture_mode = record["capture_mode"]
        state.parent_run_id = record["parent_run_id"]
        state.sdk = record["sdk"]
        state.request_id = request["request_id"]
        state.channel = context["channel"]
        state.repo = context["repo"]
        state.branch = context["branch"]
        state.ticket_id = context["ticket_id"]
    elif name == "EventsDropped":
        state.dropped += record["count"]
    elif name == "RunEnded":
        state.ended = True
