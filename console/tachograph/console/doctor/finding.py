"""What a check found."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a thing is."""

    OK = "ok"
    WARN = "warn"
    """Works, and somebody should look at it."""
    FAIL = "fail"
    """Does not work, or is not safe."""
    SKIPPED = "skipped"
    """Could not be looked at, because of something else that is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    check: str
    """Stable name, such as ``kafka.topics``."""
    state: State
    detail: str
    """What was found, without captured content."""
    todo: str = ""
    """What to do next; empty if there is nothing to do."""


def ok(check: str, detail: str) -> Finding:
    """All is well."""
    return Finding(check=check, state=State.OK, detail=detail)


def warn(check: str, detail: str, todo: str) -> Finding:
    """It works, and should be looked at."""
    return Finding(check=check, state=State.WARN, detail=detail, todo=todo)


def fail(check: str, detail: str, todo: str) -> Finding:
    """It is broken."""
    return Finding(check=check, state=State.FAIL, detail=detail, todo=todo)


def skipped(check: str, because: str) -> Finding:
    """Something else comes first."""
    return Finding(check=check, state=State.SKIPPED, detail=f"not looked at: {because}")
