"""How fast an error budget is spent, how much is left, and when it will be gone. Arithmetic only.

A burn rate of 1 spends exactly the budget of the period in the period. An alert compares it in two windows: the
long one says that it matters, the short one that it still goes on.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from tachograph.console.slo.objective import Count, Objective, Observation

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


class Level(StrEnum):
    """What an objective's alert asks of people. The values are severities of violations."""

    PAGE = "critical"
    """Somebody gets up."""
    TICKET = "error"
    """Somebody looks during the day."""
    NO_DATA = "warn"
    """Nothing is counted, so nothing is known."""


class Pair(NamedTuple):
    """A long and a short window, and the share of the period's budget that the long one may spend."""

    level: Level
    long_s: int
    short_s: int
    share: float

    def threshold(self, period_s: int) -> float:
        """Burn rate at which the long window has spent its share."""
        return self.share * period_s / self.long_s


PAIRS: Final = (
    Pair(Level.PAGE, _HOUR, 5 * _MINUTE, 0.02),
    Pair(Level.PAGE, 6 * _HOUR, 30 * _MINUTE, 0.05),
    Pair(Level.TICKET, _DAY, 2 * _HOUR, 0.10),
    Pair(Level.TICKET, 3 * _DAY, 6 * _HOUR, 0.10),
)
"""For a period of 30 days the thresholds are 14.4, 6, 3 and 1."""

PACE_S: Final = _HOUR
"""Window whose burn rate is taken for the pace at which a budget goes on being spent."""


def windows(objective: Objective) -> tuple[int, ...]:
    """Every window that has to be counted, in seconds, the shortest first."""
    alerts = {length for pair in PAIRS for length in (pair.long_s, pair.short_s)}
    return tuple(sorted({*alerts, PACE_S, objective.period_s}))


def burn_rate(count: Count, target: float) -> float:
    """Share of bad events over the share that is allowed. No events spend nothing."""
    return (count.bad / count.total) / (1 - target) if count.total else 0.0


def budget_left(count: Count, target: float) -> float:
    """Share of the period's budget that is left: 1 untouched, 0 spent, below 0 overspent."""
    return 1.0 - burn_rate(count, target)


def time_to_exhaustion_s(left: float, pace: float, period_s: int) -> float | None:
    """Seconds until nothing is left, at the present pace; None if it is not being spent."""
    if left <= 0:
        return 0.0
    return left * period_s / pace if pace > 0 else None


def exceeds(pair: Pair, objective: Objective, observation: Observation) -> bool:
    """Whether both windows burn too fast, on enough events to mean something."""
    long, short = observation.counts[pair.long_s], observation.counts[pair.short_s]
    threshold = pair.threshold(objective.period_s)
    return (
        long.total >= objective.minimum_events
        and long.bad >= objective.minimum_bad
        and burn_rate(long, objective.target) >= threshold
        and burn_rate(short, objective.target) >= threshold
    )


def held_back(pair: Pair, objective: Objective, observation: Observation) -> str | None:
    """Why a long window that burns too fast gives no alert; None if it gives one, or does not burn."""
    long, threshold = observation.counts[pair.long_s], pair.threshold(objective.period_s)
    if burn_rate(long, objective.target) < threshold or exceeds(pair, objective, observation):
        return None
    if long.total < objective.minimum_events:
        return f"needs {objective.minimum_events} events"
    if long.bad < objective.minimum_bad:
        return f"needs {objective.minimum_bad} bad events"
    return "over by now"


def undecided(pair: Pair, objective: Objective, observation: Observation) -> bool:
    """Whether the long window still burns and the short one is silent: no recovery has been seen."""
    long, short = observation.counts[pair.long_s], observation.counts[pair.short_s]
    return short.total == 0 and burn_rate(long, objective.target) >= pair.threshold(objective.period_s)


def silent(objective: Objective, observation: Observation, at: float) -> bool:
    """Whether nothing was counted for longer than the objective allows."""
    allowed = objective.no_data_after_s
    return allowed is not None and at - observation.last_event_at > allowed


def fastest(objective: Objective, observation: Observation, level: Level) -> tuple[Pair, float]:
    """The pair of this level whose long window is furthest above its threshold, and its burn rate."""
    pairs: Sequence[Pair] = [pair for pair in PAIRS if pair.level is level]
    rates = {pair: burn_rate(observation.counts[pair.long_s], objective.target) for pair in pairs}
    chosen = max(pairs, key=lambda pair: rates[pair] / pair.threshold(objective.period_s))
    return chosen, rates[chosen]
