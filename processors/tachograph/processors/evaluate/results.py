"""What an evaluation says: a status per side, the checks behind it, and findings that become violations."""

from typing import Any, Final, Literal, NamedTuple

Status = Literal["pass", "warn", "fail", "unknown"]
Side = Literal["alignment", "quality", "policy"]

SIDES: Final[tuple[Side, ...]] = ("alignment", "quality", "policy")
SEVERITIES: Final = ("info", "warn", "error", "critical")
MILD: Final = frozenset({"info", "warn"})
"""Severities whose broken rules warn; the others fail."""

NO_ACTION: Final = "none"
"""The stream watches; only hooks inside the agent stop anything."""


class Outcome(NamedTuple):
    """What a check said of one event. None instead of an outcome: the check does not apply."""

    status: Literal["pass", "fail", "unknown"]
    message: str = ""
    """What is wrong and what to do, or why nothing can be said. Never captured content."""
    evidence: str | None = None
    """Pointer into the event, or an excerpt that shows no secret."""
    tool_use_id: str | None = None


PASSED: Final = Outcome("pass")


def failed(message: str, evidence: str | None = None, tool_use_id: str | None = None) -> Outcome:
    """The rule is broken."""
    return Outcome("fail", message, evidence, tool_use_id)


def unknown(message: str) -> Outcome:
    """Nothing can be said, and why."""
    return Outcome("unknown", message)


class Check(NamedTuple):
    """One check and its outcome."""

    id: str
    """Id of the rule, or of the request's constraint."""
    status: Status
    message: str
    constraint_id: str | None = None


class Finding(NamedTuple):
    """A broken rule, with the fields that a Violation needs besides those of its event."""

    kind: Side
    code: str
    severity: str
    message: str
    evidence: str | None
    constraint_id: str | None
    verdict: str
    """What the rule said: warn or fail."""
    action: str
    """What was enforced: none in the stream, or what a hook did to this tool call."""
    step_id: str | None
    tool_use_id: str | None


class SideResult(NamedTuple):
    """Alignment, quality or policy of one event."""

    status: Status
    score: float | None
    """Share of decided checks that passed, warnings counting half; None if none was decided."""
    checks: list[Check]


class Evaluation(NamedTuple):
    """What the stream says of an event. What the agent said of itself stays in the event."""

    alignment: SideResult
    quality: SideResult
    policy: SideResult
    violations: list[Finding]
    packs: str
    """Rule packs and versions that were in force."""

    def as_dict(self) -> dict[str, Any]:
        """The evaluation as plain JSON data."""
        return {
            side: {
                "status": result.status,
                "score": result.score,
                "checks": [check._asdict() for check in result.checks],
            }
            for side, result in zip(SIDES, self[:3], strict=True)
        } | {"violations": [finding._asdict() for finding in self.violations], "packs": self.packs}


_EMPTY: Final = SideResult("unknown", None, [])


def side_result(checks: list[Check]) -> SideResult:
    """Sum up the checks of one side. Only if all that apply passed, and at least one did, it is a pass."""
    if not checks:
        return _EMPTY
    passed = warned = failed_ = undecided = 0
    for check in checks:
        status = check.status
        if status == "pass":
            passed += 1
        elif status == "unknown":
            undecided += 1
        elif status == "warn":
            warned += 1
        else:
            failed_ += 1
    decided = passed + warned + failed_
    score = round((passed + warned / 2) / decided, 4) if decided else None
    if failed_:
        return SideResult("fail", score, checks)
    if warned:
        return SideResult("warn", score, checks)
    return SideResult("unknown" if undecided else "pass", score, checks)
