"""Every topic: its name, what it carries, how long it keeps it, and the table it lands in."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
FOREVER: Final = -1


class ViolationKind(StrEnum):
    """What sort of promise was broken; one topic each, so that an alert subscribes to what it needs."""

    ALIGNMENT = "alignment"
    QUALITY = "quality"
    POLICY = "policy"
    OBSERVABILITY = "observability"
    SLO = "slo"
    INTEGRITY = "integrity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One topic of the contract. Partition count and replication are settings; everything else is fixed here."""

    name: str
    description: str
    key: str
    """What the message key is."""
    retention_ms: int
    """How long messages are kept; FOREVER keeps all."""
    writer: str
    reader: str
    schemas: tuple[str, ...]
    """Names of the Avro record types found here; empty where any bytes may be."""
    table: str | None = None
    """ClickHouse table its messages land in."""
    append_time: bool = False
    """Broker stamps messages on append, so that a producer cannot choose their time."""
    max_message_bytes: int = 1_048_588
    """Largest message the broker takes; Kafka's own default unless there is a reason."""

    def config(self) -> dict[str, str]:
        """Topic configuration as the broker takes it."""
        return {
            "retention.ms": str(self.retention_ms),
            "message.timestamp.type": "LogAppendTime" if self.append_time else "CreateTime",
            "compression.type": "producer",
            "cleanup.policy": "delete",
            "max.message.bytes": str(self.max_message_bytes),
        }


RECORD_TYPES: Final = (
    "RunStarted",
    "StepStarted",
    "DecisionEvent",
    "ToolCallRecord",
    "AgentDecision",
    "AgentQualitySignal",
    "ContextManifest",
    "RecordProposal",
    "AgentFailure",
    "StepEnded",
    "RunEnded",
    "EventsDropped",
)
"""What an agent emits."""

ROW_TABLES: Final = (
    "agent_runs",
    "agent_steps",
    "agent_failures",
    "agent_decisions",
    "agent_quality_signals",
    "decision_events",
    "evaluations",
    "tool_calls",
    "context_manifests",
    "context_items",
    "snapshots",
    "record_proposals",
)
"""Tables that the worker writes rows for, one topic each."""

EVENTS: Final = Topic(
    name="tachograph.events.v1",
    description="Everything agents emit, in order within a run.",
    key="trace_id",
    retention_ms=7 * _DAY_MS,
    writer="agents",
    reader="worker",
    schemas=RECORD_TYPES,
    append_time=True,
)

CAPTURES: Final = Topic(
    name="tachograph.captures.v1",
    description="Encrypted raw prompts and tool outputs; nothing reads it unless a fault asks.",
    key="trace_id",
    retention_ms=_HOUR_MS,
    writer="agents",
    reader="snapshot step",
    schemas=(),
    append_time=True,
)

RECORDS: Final = Topic(
    name="tachograph.records.v1",
    description="Sealed decision records.",
    key="log id",
    retention_ms=FOREVER,
    writer="sealer",
    reader="ClickHouse sink, auditors",
    schemas=("rows.decision_records",),
    table="decision_records",
)

CHECKPOINTS: Final = Topic(
    name="tachograph.checkpoints.v1",
    description="Signed heads of the record logs.",
    key="log id",
    retention_ms=FOREVER,
    writer="sealer",
    reader="ClickHouse sink, auditors",
    schemas=("rows.checkpoints",),
    table="checkpoints",
)

HEADS: Final = Topic(
    name="tachograph.heads.v1",
    description="Every log of a tenant and how far it had come, signed once a minute.",
    key="tenant id",
    retention_ms=FOREVER,
    writer="sealer",
    reader="ClickHouse sink, auditors",
    schemas=("rows.log_heads",),
    table="log_heads",
)

DLQ: Final = Topic(
    name="tachograph.dlq.v1",
    description="Messages that could not be processed: original bytes, Kafka Connect's error headers.",
    key="as found",
    retention_ms=30 * _DAY_MS,
    writer="any",
    reader="operator",
    schemas=(),
    table="dead_letters",
    # The largest message of any other topic, with its error headers on top, must fit.
    max_message_bytes=2 * 1_048_588,
)


def row_topic(table: str) -> str:
    """Name of the topic whose Avro schema is the columns of ``table``."""
    return f"tachograph.rows.{table}.v1"


def violation_topic(kind: ViolationKind) -> str:
    """Name of the topic that alerting consumers of this kind subscribe to."""
    return f"tachograph.violations.{kind.value}.v1"


ROWS: Final = tuple(
    Topic(
        name=row_topic(table),
        description=f"Rows of the table {table}; the Avro schema is its columns.",
        key="trace_id",
        retention_ms=7 * _DAY_MS,
        writer="worker",
        reader="ClickHouse sink",
        schemas=(f"rows.{table}",),
        table=table,
    )
    for table in ROW_TABLES
)

REPLAYS: Final = Topic(
    name=row_topic("replays"),
    description="Results of replaying records; the Avro schema is the columns of the table replays.",
    key="trace_id",
    retention_ms=30 * _DAY_MS,
    writer="replay",
    reader="ClickHouse sink",
    schemas=("rows.replays",),
    table="replays",
)

VIOLATIONS: Final = tuple(
    Topic(
        name=violation_topic(kind),
        description=f"Violations of kind {kind.value}.",
        key="trace_id",
        retention_ms=30 * _DAY_MS,
        writer="worker",
        reader="alerting consumers, ClickHouse sink",
        schemas=("rows.violations",),
        table="violations",
    )
    for kind in ViolationKind
)

CONTENT_VIEWS: Final = Topic(
    name=row_topic("content_views"),
    description="Who asked the console for captured content; written before the content is shown.",
    key="tenant_id",
    # As long as the violations' topics: a view outlives a sink that was away for weeks.
    retention_ms=30 * _DAY_MS,
    writer="console",
    reader="ClickHouse sink",
    schemas=("rows.content_views",),
    table="content_views",
)

TOPICS: Final = (EVENTS, CAPTURES, *ROWS, *VIOLATIONS, RECORDS, CHECKPOINTS, HEADS, REPLAYS, DLQ, CONTENT_VIEWS)
"""Every topic there is."""

BY_NAME: Final = {topic.name: topic for topic in TOPICS}
