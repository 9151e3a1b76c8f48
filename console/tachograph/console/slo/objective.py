"""What is promised, and what was counted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """A promise about the share of good events over a rolling period."""

    name: str
    title: str
    description: str
    table: str
    bad: str
    """Condition in SQL of an event that breaks the promise."""
    total: str
    """Condition in SQL of an event that counts."""
    target: float
    """Share of good events that is promised, between 0 and 1."""
    period_s: int
    minimum_events: int
    """Events that a long window must hold before it can alert: one bad event of two is no outage."""
    minimum_bad: int
    """Bad events that a long window must hold before it can alert."""
    no_data_after_s: int | None
    """Silence that is itself an alert; None if silence is normal."""


class Count(NamedTuple):
    """Events in one window."""

    bad: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one objective's table said about one tenant at one moment, by the events' own time."""

    tenant_id: str
    counts: Mapping[int, Count]
    """By length of the window in seconds, each ending right before the moment of evaluation."""
    last_event_at: float
    """Time of the last event that counts, in seconds."""
