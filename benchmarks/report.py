"""A benchmark's result: a ratio against a reference measured in the same run, because machines differ and are noisy."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """What was measured, what it is compared with, and what we want."""

    name: str
    rate: float
    reference_name: str
    reference: float
    goal: float
    unit: str

    @property
    def value(self) -> float:
        """The ratio."""
        return self.rate / self.reference

    def __str__(self) -> str:
        verdict = "met" if self.value >= self.goal else "MISSED"
        return (
            f"{self.name}: {self.rate:,.0f} {self.unit}; {self.reference_name}: {self.reference:,.0f} {self.unit}; "
            f"ratio {self.value:.2f} (goal {self.goal:.2f}: {verdict})"
        )
