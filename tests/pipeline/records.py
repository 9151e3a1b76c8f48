"""Many believable records: whole runs of every record type, cheaply made."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tachograph.schemas.wire import Codec, to_avro
from tests.schemas import samples

RECORDS_PER_RUN = len(samples.RECORDS)
TABLES_OF = {
    "RunStarted": ("agent_runs",),
    "StepStarted": ("agent_steps",),
    "DecisionEvent": ("decision_events",),
    "ToolCallRecord": ("tool_calls",),
    "AgentDecision": ("agent_decisions",),
    "AgentQualitySignal": ("agent_quality_signals",),
    "ContextManifest": ("context_manifests", "context_items", "context_items"),
    "RecordProposal": ("record_proposals",),
    "AgentFailure": ("agent_failures",),
    "StepEnded": ("agent_steps",),
    "EventsDropped": ("agent_failures",),
    "RunEnded": ("agent_runs",),
}
"""Tables that one record lands in, once per row."""


class Sent(NamedTuple):
    """A record on its way."""

    name: str
    event_id: str
    key: bytes
    value: bytes


def mixed_records(count: int, label: str) -> Iterator[Sent]:
    """At least ``count`` records in whole runs. Runs are interleaved by twenties, as they are in life."""
    codec = Codec()
    templates: list[tuple[str, dict[str, Any]]] = [(type(item).__name__, to_avro(item)) for item in samples.RECORDS]
    runs = -(-count // RECORDS_PER_RUN)
    for first in range(0, runs, 20):
        for seq, (name, template) in enumerate(templates):
            for run in range(first, min(first + 20, runs)):
                run_id, trace_id = f"{label}-{run}", f"{label}-trace-{run}"
                event_id = f"{label}-{run}-{seq}"
                record = template | {"event_id": event_id, "run_id": run_id, "trace_id": trace_id, "seq": seq}
                if name == "DecisionEvent":
                    record["session"] = record["session"] | {"run_id": run_id}
                yield Sent(name, event_id, trace_id.encode(), codec.encode(name, record))


def expected_rows(records: list[Sent]) -> dict[str, dict[str, int]]:
    """Rows per table and event id."""
    rows: dict[str, dict[str, int]] = {}
    for record in records:
        for table in TABLES_OF[record.name]:
            by_event = rows.setdefault(table, {})
            by_event[record.event_id] = by_event.get(record.event_id, 0) + 1
    return rows
