"""The little that checks must remember between the events of a run."""

from hashlib import blake2b
from typing import Any, Final

from tachograph.processors.bounds import MOST_ID, short

_VERSION: Final = 1
MOST_PATHS: Final = 128
"""Distinct files told apart; 12 characters each in the state. Beyond it the count is a lower bound."""
MOST_TOOLS: Final = 32
MOST_BLOCKED: Final = 32
MOST_CONSTRAINTS: Final = 64
MOST_RULE_CHARACTERS: Final = 16 * 1024
"""Of all constraints together. What does not fit is still judged where an event carries it."""


class RunFacts:
    """A run as its checks see it. Bounded whatever the run does; about 100 bytes for a run that did little."""

    __slots__ = (
        "approvals",
        "approved",
        "blocked",
        "branch",
        "capture_mode",
        "constraints",
        "edited",
        "environment",
        "failures",
        "files_changed",
        "lines_changed",
        "paths",
        "paths_full",
        "repo",
        "tests_passed",
        "tests_ran",
        "tool_records",
    )

    def __init__(self) -> None:
        self.environment: str = ""
        self.repo: str | None = None
        self.branch: str | None = None
        self.capture_mode: str = ""
        self.constraints: list[list[str]] = []
        """``[id, type, rule]`` of the request that started the run."""
        self.edited: bool = False
        """Files were changed since tests last ran."""
        self.tests_ran: bool = False
        self.tests_passed: bool | None = None
        """How the last test run ended; None if there was none or it did not say."""
        self.approvals: int = 0
        """Human approvals and overrides seen."""
        self.approved: bool = False
        """One of them came after the last edit."""
        self.failures: dict[str, int] = {}
        """Failed calls in a row by tool."""
        self.files_changed: int = 0
        self.lines_changed: int = 0
        self.paths: dict[str, None] = {}
        """Short hashes of the files changed, in order of appearance."""
        self.paths_full: bool = False
        self.blocked: dict[str, str] = {}
        """Tool calls that a hook skipped or aborted, the latest ones."""
        self.tool_records: bool = False
        """The run has records of its tool calls, so results inside events are not counted again."""

    def changed(self, path: str | None, lines: int) -> None:
        """A file was edited."""
        self.edited = True
        self.approved = False
        self.lines_changed += lines
        if path is None:
            return
        short = blake2b(path.encode(errors="replace"), digest_size=6).hexdigest()
        if short in self.paths:
            return
        if len(self.paths) >= MOST_PATHS:
            self.paths_full = True
            return
        self.paths[short] = None
        self.files_changed += 1

    def tested(self, passed: bool | None) -> None:
        """Tests were run."""
        self.tests_ran = True
        self.tests_passed = passed
        self.edited = False

    def approve(self) -> None:
        """A human agreed."""
        self.approvals += 1
        self.approved = True

    def tool_ended(self, name: str, *, error: bool) -> None:
        """A tool call came back. A success ends the row of failures."""
        name = short(name)
        if not error:
            self.failures.pop(name, None)
        elif name in self.failures or len(self.failures) < MOST_TOOLS:
            self.failures[name] = self.failures.get(name, 0) + 1

    def block(self, tool_use_id: str, action: str) -> None:
        """A hook kept this call from running."""
        if len(tool_use_id) > MOST_ID:
            return
        self.blocked.pop(tool_use_id, None)
        self.blocked[tool_use_id] = action
        if len(self.blocked) > MOST_BLOCKED:
            del self.blocked[next(iter(self.blocked))]

    def demand(self, constraints: list[dict[str, Any]]) -> None:
        """Keep the constraints of the request, as many as fit."""
        kept: list[list[str]] = []
        room = MOST_RULE_CHARACTERS
        for constraint in constraints[:MOST_CONSTRAINTS]:
            room -= len(constraint["id"]) + len(constraint["type"]) + len(constraint["rule"])
            if room < 0:
                break
            kept.append([constraint["id"], constraint["type"], constraint["rule"]])
        self.constraints = kept

    def to_list(self) -> list[Any]:
        """Flat list of JSON values, version first."""
        values = [getattr(self, name) for name in _LAYOUT]
        values[_PATHS] = list(self.paths)
        return [_VERSION, *values]

    @classmethod
    def from_list(cls, values: list[Any]) -> "RunFacts":
        """Read what ``to_list`` wrote. Raises ValueError if it is something else."""
        if len(values) != len(_LAYOUT) + 1 or values[0] != _VERSION:
            raise ValueError("the facts of a run were written by another version of the worker")
        facts = cls()
        for name, value in zip(_LAYOUT, values[1:], strict=True):
            setattr(facts, name, value)
        facts.paths = dict.fromkeys(values[_PATHS + 1])
        return facts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunFacts) and self.to_list() == other.to_list()

    __hash__ = None  # type: ignore[assignment]  # it changes with every event

    def __repr__(self) -> str:
        # Counts only: a repr may end up in a log.
        return f"RunFacts(files_changed={self.files_changed}, approvals={self.approvals}, edited={self.edited})"


_LAYOUT: Final = tuple(RunFacts.__slots__)
"""Order of the encoding. Alphabetical, as the slots are; a new field needs a new version."""
_PATHS: Final = _LAYOUT.index("paths")
