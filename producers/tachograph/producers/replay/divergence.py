"""Where a replay left its recording: which call, and what was expected and got, by hash. Never content."""

from dataclasses import asdict, dataclass
from enum import StrEnum


class DivergenceKind(StrEnum):
    """What was different first."""

    REQUEST_CHANGED = "request_changed"
    """The run was started for another request."""
    UNEXPECTED_RUN = "unexpected_run"
    """A run was started that is not in the recording."""
    PROMPT_CHANGED = "prompt_changed"
    """A model was asked something that it was not asked then."""
    TOOL_CHANGED = "tool_changed"
    """Another tool was called."""
    TOOL_INPUT_CHANGED = "tool_input_changed"
    """The tool was called with another input."""
    HOOK_CHANGED = "hook_changed"
    """A hook skipped the call and did not then, or the other way round."""
    ORDER_CHANGED = "order_changed"
    """The call is in the recording, behind one that had ended before it began and is still to come."""
    DECISION_CHANGED = "decision_changed"
    """The agent decided otherwise."""
    UNEXPECTED_CALL = "unexpected_call"
    """Everything of the kind was served already."""
    MISSING_CALL = "missing_call"
    """The run ended before it had made a call, or a decision, of the recording."""
    NETWORK = "network"
    """The code tried to reach the network around the boundary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """The first difference between a replay and its recording."""

    kind: DivergenceKind
    run_id: str
    call: str
    """What was called: ``model <name>``, ``tool <name>``, ``decision``, ``run``, ``network``."""
    place: int
    """How many calls and decisions of the run had been served before it."""
    expected_call: str | None = None
    """What the recording has next, in the same words; None if it has nothing more."""
    expected: str | None = None
    """Hash of what the recording has next; None if it has nothing more."""
    got: str | None = None
    """Hash of what came instead; None if nothing came."""

    def sentence(self) -> str:
        """For a person."""
        expected = (
            "nothing more" if self.expected_call is None else f"{self.expected_call} {(self.expected or '')[:16]}"
        )
        got = "nothing" if self.got is None else self.got[:16]
        return (
            f"{self.kind.value}: {self.call}, place {self.place} of run {self.run_id}: expected {expected}, got {got}"
        )

    def as_json(self) -> dict[str, str | int | None]:
        """For a pipe."""
        return asdict(self) | {"kind": self.kind.value}
