"""How a report spells times, durations and captured texts."""

from datetime import UTC, datetime

from tachograph.console.report.model import Content
from tachograph.console.report.page import NOTHING


def content(value: Content) -> str:
    """A captured text, or why there is none."""
    if value.text is not None:
        return value.text
    if value.artifact_id is not None:
        return f"(stored as artifact {value.artifact_id})"
    if value.characters is not None:
        return f"({value.characters:,} characters, left out of this report)"
    return "(not captured)"


def sides(statuses: dict[str, str]) -> str:
    """Statuses by side."""
    return ", ".join(f"{side} {status}" for side, status in statuses.items()) or NOTHING


def when(at: datetime | None) -> str:
    """A moment, in UTC."""
    return NOTHING if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"


def since(milliseconds: int) -> str:
    """How long after the run's start; before it if the producer's clock says so."""
    return f"{milliseconds / 1000:+.3f} s"


def seconds(milliseconds: int | None) -> str:
    """A duration."""
    return NOTHING if milliseconds is None else f"{milliseconds / 1000:,.3f} s"
