"""What the stream found in a run: the worst first, and where in the timeline it belongs."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final

from tachograph.schemas.enums import Severity

_WORST_FIRST: Final = {severity.value: place for place, severity in enumerate(reversed(Severity))}


@dataclass(frozen=True, slots=True)
class Found:
    """Violations of one code."""

    severity: str
    code: str
    count: int
    message: str
    """Of the first of them. It names rules and places, and quotes nothing."""


def worst_first(violations: Iterable[Any]) -> list[Found]:
    """One entry for each code and severity; the worst first, then the most frequent."""
    groups: dict[tuple[str, str], list[Any]] = {}
    for row in violations:
        groups.setdefault((row["severity"], row["code"]), []).append(row)
    found = [Found(severity, code, len(rows), rows[0]["message"]) for (severity, code), rows in groups.items()]
    return sorted(found, key=lambda each: (_rank(each.severity), -each.count, each.code))


def by_severity(violations: Iterable[Any]) -> list[tuple[str, int]]:
    """How many there are of each severity, the worst first."""
    return _ranked(Counter(row["severity"] for row in violations))


def marked(bars: Collection[str], violations: Iterable[Any]) -> dict[str, list[tuple[str, int]]]:
    """Violations by the bar they belong to: the tool call they name, else the event, else the step."""
    counted: dict[str, Counter[str]] = {}
    for row in violations:
        named = (f"tool:{row['tool_use_id']}", f"event:{row['event_id']}", f"step:{row['step_id']}")
        place = next((bar for bar in named if bar in bars), None)
        if place is not None:
            counted.setdefault(place, Counter())[row["severity"]] += 1
    return {place: _ranked(counts) for place, counts in counted.items()}


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda each: (_rank(each[0]), each[0]))


def _rank(severity: str) -> int:
    """An unknown word comes last."""
    return _WORST_FIRST.get(severity, len(_WORST_FIRST))
