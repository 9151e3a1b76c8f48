"""What the redactor is allowed to spend, and what it gives back. Representations never show content."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

__all__ = ["Budget", "DropReason", "Finding", "Redacted", "RedactedValue", "RuleCount", "dropped"]


class DropReason(StrEnum):
    """Why content was dropped as a whole. The metadata around it is kept."""

    BUDGET = "budget"
    """Larger than `Budget.max_bytes`."""
    TIMEOUT = "timeout"
    """Not done within `Budget.max_seconds`."""
    PATH = "path"
    """It came from a file that a path rule names."""
    ERROR = "error"
    """The redactor itself failed, or the value could not be read."""
    UNSTABLE = "unstable"
    """Redacting the redacted text kept finding more."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one record may cost before its content is dropped unread."""

    max_bytes: int = 8 * 1024 * 1024
    """UTF-8 bytes of one text, or of all strings of one value. Bounds the longest single RE2 call, which has no
    timeout of its own: 8 MiB at the slowest rate seen on hostile input stays below a second."""
    max_seconds: float = 1.0
    """Seconds of the thread's processor time after which the content is dropped. Checked between chunks, rules and
    findings."""

    def __post_init__(self) -> None:
        if self.max_bytes < 1 or not self.max_seconds > 0:
            raise ValueError("a redaction budget needs at least one byte and more than no time")


class Finding(NamedTuple):
    """One stretch of text that is replaced. Offsets count characters of the text that was given."""

    rule_id: str
    start: int
    end: int


class RuleCount(NamedTuple):
    """How many redactions one rule made."""

    rule_id: str
    total: int


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text that may be stored."""

    text: str = field(repr=False)
    """The text with placeholders, or a marker such as ``[DROPPED:budget]``. Always encodes as UTF-8, without NUL."""
    findings: tuple[RuleCount, ...] = ()
    """Redactions by rule id, sorted; never by value."""
    dropped_reason: DropReason | None = None
    """Set if the whole content was dropped."""


@dataclass(frozen=True, slots=True)
class RedactedValue:
    """A JSON value that may be stored."""

    value: Any = field(repr=False)
    """Built-in types only, no NaN, no integer beyond 2^53 - 1, keys are strings: every JSON writer takes it."""
    findings: tuple[RuleCount, ...] = ()
    """Redactions by rule id, sorted; never by value."""
    dropped_reason: DropReason | None = None
    """Set if the whole value was dropped, or some member of it because of a path rule."""


_MARKERS: Final = {reason: f"[DROPPED:{reason.value}]" for reason in DropReason}


def dropped(reason: DropReason) -> str:
    """Return the marker that stands where content was dropped."""
    return _MARKERS[reason]
