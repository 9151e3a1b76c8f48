"""How long each table keeps its rows, and which rows it keeps for good. The one place where this is said.

The sink's migrations put it into ClickHouse's TTLs, and a test compares the two on a real server. Artifacts have days
of their own in ``artifacts.short_days`` and its neighbours, because bytes weigh more than rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class KeepReason(StrEnum):
    """Why a run and everything recorded in it is kept for good, whatever is sampled and however old it gets."""

    DESTRUCTIVE = "destructive"
    """A decision of it took a destructive action."""
    DENIED = "denied"
    """A decision of it was rejected, or a hook aborted a tool call."""
    ESCALATED = "escalated"
    """A decision of it went to somebody with more authority."""
    FAILED_SCORECARD = "failed_scorecard"
    """A decision of it failed its evaluation."""
    INCIDENT = "incident"
    """It is linked to an incident, by the agent or by a person afterwards."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long a class of rows is kept."""

    name: str
    days: int | None
    """None: for good."""
    meaning: str


FOREVER: Final = Keeping("forever", None, "Sealed: a log with holes proves nothing.")
AUDIT: Final = Keeping("audit", 730, "What was found wrong, and what became of it.")
STANDARD: Final = Keeping("standard", 180, "What agents did.")
CONTEXT: Final = Keeping("context", 90, "What agents saw: much of it, and soon stale.")
MINUTES: Final = Keeping("minutes", 30, "Fine rollups; the hours stay.")

KEEPINGS: Final = (FOREVER, AUDIT, STANDARD, CONTEXT, MINUTES)

TABLES: Final[Mapping[str, Keeping]] = {
    "agent_runs": STANDARD,
    "agent_steps": STANDARD,
    "agent_failures": STANDARD,
    "agent_decisions": STANDARD,
    "agent_quality_signals": STANDARD,
    "decision_events": STANDARD,
    "evaluations": STANDARD,
    "tool_calls": STANDARD,
    "record_proposals": STANDARD,
    "context_manifests": CONTEXT,
    "context_items": CONTEXT,
    "snapshots": CONTEXT,
    "dead_letters": CONTEXT,
    "violations": AUDIT,
    "replays": AUDIT,
    "content_views": AUDIT,
    "model_minutes": MINUTES,
    "tool_minutes": MINUTES,
    "model_hours": AUDIT,
    "tool_hours": AUDIT,
    "decision_records": FOREVER,
    "checkpoints": FOREVER,
    "log_heads": FOREVER,
    "kept_runs": FOREVER,
    "model_prices": FOREVER,
    "schema_migrations": FOREVER,
}
"""Class of every table. Runs, steps, decisions and signals share one: what belongs to a run goes when the run goes."""

CLOCKS: Final[Mapping[str, str]] = {
    "model_minutes": "minute",
    "tool_minutes": "minute",
    "model_hours": "hour",
    "tool_hours": "hour",
}
"""Column from which the days count, where it is not ``_ingested_at``, the one clock that no producer sets."""

WITHOUT_RUNS: Final = frozenset({"dead_letters", "content_views", *CLOCKS})
"""Tables whose rows belong to no run, or only to whoever looked at one, so that none of them is kept for its sake."""


def clock_of(table: str) -> str:
    """Column from which a table's days count."""
    return CLOCKS.get(table, "_ingested_at")


def keeps_runs(table: str) -> bool:
    """Whether rows of kept runs, once marked ``_kept``, outlive the table's days."""
    return TABLES[table].days is not None and table not in WITHOUT_RUNS
