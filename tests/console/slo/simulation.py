"""An objective watched over simulated days: events that happen and arrive, a clock, and a memory."""

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, NamedTuple

from tachograph.console.slo.alerting import Key, Transition, after, recovered, transitions, violation_row
from tachograph.console.slo.burn import windows
from tachograph.console.slo.objective import Count, Objective, Observation

MINUTE, HOUR, DAY = 60, 3600, 86_400
START = 1_780_000_020
"""A whole minute of 2026."""

OBJECTIVE = Objective(
    name="tool-success",
    title="Tool success",
    description="",
    table="tool_calls",
    bad="bad",
    total="1",
    target=0.99,
    period_s=30 * DAY,
    minimum_events=20,
    minimum_bad=2,
    no_data_after_s=2 * HOUR,
)


class Event(NamedTuple):
    """Many events at one moment, of which some are bad."""

    at: int
    total: int
    bad: int
    arrives: int


def steady(start: int, end: int, *, bad: int = 0, total: int = 100, late: int = 0) -> list[Event]:
    """As many events in each minute of the stretch."""
    return [Event(at, total, bad, at + late) for at in range(start, end, MINUTE)]


@dataclass
class Watch:
    """An evaluator under a simulated clock. ``published`` is the topic: a restart knows nothing else."""

    events: list[Event]
    objective: Objective = OBJECTIVE
    firing: dict[Key, int] = field(default_factory=dict)
    published: list[Transition] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Days of minutes are evaluated minute by minute: sums up to each event make a window two look-ups.
        punctual = sorted(event for event in self.events if event.arrives == event.at)
        self._late = [event for event in self.events if event.arrives > event.at]
        self._times = [event.at for event in punctual]
        self._bad = list(accumulate((event.bad for event in punctual), initial=0))
        self._total = list(accumulate((event.total for event in punctual), initial=0))

    def count(self, at: int, span: int) -> Count:
        """Events of the window that ends before ``at``, as far as they have arrived by then."""
        first, last = bisect_left(self._times, at - span), bisect_left(self._times, at)
        late = [event for event in self._late if at - span <= event.at < at and event.arrives <= at]
        return Count(
            self._bad[last] - self._bad[first] + sum(event.bad for event in late),
            self._total[last] - self._total[first] + sum(event.total for event in late),
        )

    def observation(self, at: int) -> Observation | None:
        """What the table would say."""
        counts = {span: self.count(at, span) for span in windows(self.objective)}
        if not counts[self.objective.period_s].total:
            return None
        known = self._times[: bisect_left(self._times, at)]
        return Observation(tenant_id="acme", counts=counts, last_event_at=max(known[-1:], default=0))

    def run(self, start: int, end: int) -> list[tuple[int, str, str]]:
        """Evaluate every minute. Returns moment (from the start of time), level and verdict of what changed."""
        before = len(self.published)
        for at in range(start, end, MINUTE):
            observation = self.observation(at)
            changes = transitions(self.objective, [observation] if observation else [], self.firing, at)
            self.published += changes
            self.firing = after(self.firing, changes)
        return [(item.starts_at - START, item.key.level.name, item.verdict) for item in self.published[before:]]

    def restarted(self) -> "Watch":
        rows: list[dict[str, Any]] = [violation_row(change) for change in self.published]
        return replace(self, firing=recovered(rows), published=list(self.published))
