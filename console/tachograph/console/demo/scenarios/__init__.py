"""Eight runs of a coding agent: one that goes well, and seven that somebody should see."""

from typing import Final

from tachograph.console.demo.scenario import Scenario
from tachograph.console.demo.scenarios import (
    clean,
    deferred,
    leaking,
    looping,
    losing,
    overridden,
    timing_out,
    touching_ci,
)

SCENARIOS: Final[tuple[Scenario, ...]] = (
    clean.SCENARIO,
    touching_ci.SCENARIO,
    leaking.SCENARIO,
    timing_out.SCENARIO,
    looping.SCENARIO,
    losing.SCENARIO,
    deferred.SCENARIO,
    overridden.SCENARIO,
)
"""In the order in which they are played."""

MOST_INTERESTING: Final = leaking.SCENARIO
"""The one whose report the demo shows."""
