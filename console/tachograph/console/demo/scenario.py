"""What a scenario of the demo is: a story to play, and what the pipeline must make of it.

The demo waits until it is so, and the tests check it: what is written here is a promise, not a description.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tachograph.console.demo.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One run of the demo's agent."""

    name: str
    """Part of the run's id."""
    title: str
    """What it shows, in a few words."""
    play: Callable[[Stage], None]
    status: Literal["succeeded", "failed", "aborted"] = "succeeded"
    completeness: Literal["complete", "incomplete"] = "complete"
    violations: frozenset[str] = frozenset()
    """Codes of the violations, all of them."""
    snapshots: int = 0
    """Captures that must be in the artifact store."""
    records: tuple[str, ...] = ()
    """Statuses that its decision records are sealed with."""

    def run_id(self, suffix: str) -> str:
        """Id of the run that plays it."""
        return f"run_{self.name}_{suffix}"
