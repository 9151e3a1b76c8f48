"""A benchmark's result: a ratio against a reference measured in the same run, because machines differ and are noisy."""

from dataclasses import dataclass
from typing import Protocol


class Result(Protocol):
    """One line of the report."""

    @property
    def met(self) -> bool:
        """Whether the goal was reached."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """What was measured, what it is compared with, and what we want."""

    name: str
    measured: float
    reference_name: str
    reference: float
    goal: float | None
    """None: printed to be looked at, not judged."""
    unit: str
    at_most: bool = False
    """The goal is a ceiling (a cost) and not a floor (a rate)."""

    @property
    def value(self) -> float:
        """The ratio."""
        return self.measured / self.reference

    @property
    def met(self) -> bool:
        """Whether the goal was reached, if there is one."""
        if self.goal is None:
            return True
        return self.value <= self.goal if self.at_most else self.value >= self.goal

    def __str__(self) -> str:
        bound = "" if self.goal is None else f", goal {'at most' if self.at_most else 'at least'} {self.goal:.2f}"
        verdict = "      " if self.goal is None else "met   " if self.met else "MISSED"
        return (
            f"{verdict} {self.name}: {self.measured:,.0f} {self.unit}; "
            f"{self.reference_name}: {self.reference:,.0f} {self.unit}; "
            f"ratio {self.value:.2f}{bound}"
        )


@dataclass(frozen=True, slots=True)
class Skipped:
    """What could not be measured, and why. Neither met nor missed."""

    name: str
    reason: str
    met: bool = True

    def __str__(self) -> str:
        return f"SKIPPED {self.name}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with a bound of its own, where the requirements give one."""

    name: str
    measured: float
    goal: float
    unit: str
    at_most: bool

    @property
    def met(self) -> bool:
        """Whether the goal was reached."""
        return self.measured <= self.goal if self.at_most else self.measured >= self.goal

    def __str__(self) -> str:
        bound = "at most" if self.at_most else "at least"
        verdict = "met   " if self.met else "MISSED"
        return f"{verdict} {self.name}: {self.measured:,.0f} {self.unit}, goal {bound} {self.goal:,.0f}"
