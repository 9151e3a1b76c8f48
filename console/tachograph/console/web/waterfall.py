"""A run as nested bars: steps, the model calls in them, the tool calls under those, each where it happened in time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

DEEPEST: Final = 12
"""Levels that are indented; deeper ones stand on the last."""
MARKS: Final = 6
"""Most marks on the axis: more would run into each other on a small screen."""

_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000
_STEPS_MS: Final = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(many * _SECOND for many in (1, 2, 5, 10, 15, 30)),
    *(many * _MINUTE for many in (1, 2, 5, 10, 15, 30)),
    *(many * _HOUR for many in (1, 2, 6, 12)),
    *(many * _DAY for many in (1, 2, 7, 30)),
)
"""Distances between marks that people count in."""


@dataclass(slots=True)
class Bar:
    """One thing that took time."""

    id: str
    kind: str
    """``step``, ``model``, ``action`` or ``tool``."""
    name: str
    start: datetime
    end: datetime
    status: str
    parent: str | None
    note: str = ""
    depth: int = 0
    children: list["Bar"] = field(default_factory=list)

    @property
    def milliseconds(self) -> float:
        """How long it took."""
        return (self.end - self.start) / timedelta(milliseconds=1)

    @property
    def is_moment(self) -> bool:
        """Something that happened rather than lasted, such as an edit that is on record."""
        return self.kind == "action" and self.end <= self.start


@dataclass(frozen=True, slots=True)
class Waterfall:
    """Bars in the order in which they are drawn, and the time they span."""

    bars: Sequence[Bar]
    start: datetime | None
    end: datetime | None

    def place(self, bar: Bar) -> tuple[float, float]:
        """Left edge and width of a bar, as shares of the whole."""
        if self.start is None or self.end is None or self.end <= self.start:
            return 0.0, 1.0
        whole = self.end - self.start
        return (bar.start - self.start) / whole, (bar.end - bar.start) / whole

    def offset_ms(self, bar: Bar) -> float:
        """How long after the beginning a bar begins."""
        return 0.0 if self.start is None else (bar.start - self.start) / timedelta(milliseconds=1)

    @property
    def marks(self) -> list[tuple[float, int]]:
        """Marks of the axis: share of the whole, and milliseconds since the beginning."""
        if self.start is None or self.end is None or self.end <= self.start:
            return []
        whole = (self.end - self.start) / timedelta(milliseconds=1)
        step = next((each for each in _STEPS_MS if whole / each < MARKS), _STEPS_MS[-1])
        while whole / step >= MARKS:
            step *= 2
        return [(place * step / whole, place * step) for place in range(int(whole // step) + 1)]


def waterfall(steps: Iterable[Any], events: Iterable[Any], tools: Iterable[Any]) -> Waterfall:
    """Nest what the lists say. Parents that are missing or go round in circles leave their children at the top."""
    bars = [*map(_step, steps), *map(_event, events), *(_tool(row) for row in tools if row["leg"] == "call")]
    by_id = {bar.id: bar for bar in reversed(bars)}
    roots = []
    for bar in bars:
        parent = by_id.get(bar.parent or "")
        if parent is None or parent is bar or _above(bar, parent, by_id):
            roots.append(bar)
        else:
            parent.children.append(bar)
    drawn: list[Bar] = []
    waiting = sorted(roots, key=_order, reverse=True)
    while waiting:
        bar = waiting.pop()
        drawn.append(bar)
        for child in bar.children:
            child.depth = min(bar.depth + 1, DEEPEST)
        waiting += sorted(bar.children, key=_order, reverse=True)
    return Waterfall(
        drawn, min((bar.start for bar in bars), default=None), max((bar.end for bar in bars), default=None)
    )


def _above(bar: Bar, parent: Bar, by_id: dict[str, Bar]) -> bool:
    """Whether following the parents leads back here, or anywhere twice."""
    seen = {bar.id}
    while parent.id not in seen:
        seen.add(parent.id)
        after = by_id.get(parent.parent or "")
        if after is None:
            return False
        parent = after
    return True


def _order(bar: Bar) -> tuple[datetime, int, str]:
    return bar.start, ("step", "model", "action", "tool").index(bar.kind), bar.id


def _step(row: Any) -> Bar:
    start = row["first_seen_at"]
    end = start + timedelta(milliseconds=row["duration_ms"]) if row["duration_ms"] else row["last_seen_at"]
    return Bar(
        f"step:{row['step_id']}",
        "step",
        row["name"],
        start,
        end,
        row["status"],
        f"step:{row['parent_step_id']}" if row["parent_step_id"] else None,
        row["step_type"],
    )


def _event(row: Any) -> Bar:
    # The record is made when the answer is there.
    end = row["occurred_at"]
    name = row["model"] or row["action_type"]
    return Bar(
        f"event:{row['event_id']}",
        "model" if row["model"] else "action",
        name,
        end - timedelta(milliseconds=row["latency_ms"] or 0),
        end,
        "",
        f"step:{row['step_id']}" if row["step_id"] else None,
        row["action_type"] if row["model"] else "action",
    )


def _tool(row: Any) -> Bar:
    start = row["started_at"] or row["requested_at"] or row["occurred_at"]
    end = row["finished_at"] or start + timedelta(milliseconds=row["duration_ms"] or 0)
    failed = row["error_type"] is not None or row["result_is_error"]
    status = "skipped" if row["skipped"] else "failed" if failed else "" if row["complete"] else "incomplete"
    parent = f"tool:{row['parent_tool_use_id']}" if row["parent_tool_use_id"] else None
    return Bar(
        f"tool:{row['tool_use_id']}",
        "tool",
        row["tool_name"],
        start,
        max(start, end),
        status,
        parent or (f"step:{row['step_id']}" if row["step_id"] else None),
        row["phase"],
    )
