"""Every ClickHouse table as the stream sees it: its columns are the Avro schema of its topic.

The SQL of the tables lives in the sink's migrations; a test compares the two on a real server. Columns that only
ClickHouse knows (materialised keys, ingestion time) are not listed.
"""

from typing import Final

from tachograph.schemas.tables.context import CONTEXT_ITEMS, CONTEXT_MANIFESTS, SNAPSHOTS
from tachograph.schemas.tables.events import DECISION_EVENTS, EVALUATIONS, TOOL_CALLS
from tachograph.schemas.tables.kinds import SINK_COLUMNS, Column, Table
from tachograph.schemas.tables.pipeline import CONTENT_VIEWS, DEAD_LETTERS, VIOLATIONS
from tachograph.schemas.tables.records import (
    CHECKPOINTS,
    DECISION_RECORDS,
    LOG_HEADS,
    RECORD_PROPOSALS,
    REPLAYS,
)
from tachograph.schemas.tables.runs import (
    AGENT_DECISIONS,
    AGENT_FAILURES,
    AGENT_QUALITY_SIGNALS,
    AGENT_RUNS,
    AGENT_STEPS,
)

TABLES: Final = (
    AGENT_RUNS,
    AGENT_STEPS,
    AGENT_FAILURES,
    AGENT_DECISIONS,
    AGENT_QUALITY_SIGNALS,
    DECISION_EVENTS,
    EVALUATIONS,
    TOOL_CALLS,
    CONTEXT_MANIFESTS,
    CONTEXT_ITEMS,
    SNAPSHOTS,
    RECORD_PROPOSALS,
    DECISION_RECORDS,
    VIOLATIONS,
    CHECKPOINTS,
    LOG_HEADS,
    REPLAYS,
    DEAD_LETTERS,
    CONTENT_VIEWS,
)
"""Every table there is."""

BY_NAME: Final = {table.name: table for table in TABLES}

__all__ = ["BY_NAME", "SINK_COLUMNS", "TABLES", "Column", "Table"]
