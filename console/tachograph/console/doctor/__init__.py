"""Looks at everything the pipeline stands on, and says for each what to do."""

from tachograph.console.doctor.examine import examine
from tachograph.console.doctor.finding import Finding, State

__all__ = ["Finding", "State", "examine"]
