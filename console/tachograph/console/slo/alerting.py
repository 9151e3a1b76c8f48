"""When an objective's alert begins and ends. Only changes are published, each with an id that a repeat shares."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from tachograph.console.slo.burn import (
    PACE_S,
    PAIRS,
    Level,
    budget_left,
    burn_rate,
    exceeds,
    fastest,
    silent,
    time_to_exhaustion_s,
    undecided,
)
from tachograph.console.slo.objective import Objective, Observation
from tachograph.schemas.topics import ViolationKind

FIRING: Final = "firing"
RESOLVED: Final = "resolved"
BURN_RATE: Final = "slo.burn_rate"
NO_DATA: Final = "slo.no_data"
_MICROSECONDS: Final = 1_000_000


class Key(NamedTuple):
    """What there is one alert of."""

    tenant_id: str
    slo: str
    level: Level


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """An alert began or ended."""

    key: Key
    verdict: str
    starts_at: int
    """Second at which the state that it announces began."""
    fired_at: int
    """Second at which the alert began, also where it ends."""
    message: str
    figures: Mapping[str, Any]
    sample_event_ids: tuple[str, ...] = ()
    """A few bad events of the last hours, for an alert that begins."""

    @property
    def has_samples(self) -> bool:
        """Whether bad events can be named: not for an end, and not for silence."""
        return self.verdict == FIRING and self.key.level is not Level.NO_DATA

    @property
    def id(self) -> str:
        """Derived from what it reports: whoever evaluates the same moment again says the same thing."""
        tenant, slo, level = self.key
        return hashlib.sha256(f"{tenant}|{slo}|{level.value}|{self.starts_at}".encode()).hexdigest()


Firing = Mapping[Key, int]
"""Alerts that are on, with the second at which they began."""


def transitions(objective: Objective, observations: Iterable[Observation], firing: Firing, at: int) -> list[Transition]:
    """What changed at ``at``. A tenant that is not observed any more has no events left, and so nothing that burns."""
    found: list[Transition] = []
    observed = set()
    for observation in observations:
        observed.add(observation.tenant_id)
        for level in Level:
            key = Key(observation.tenant_id, objective.name, level)
            on = _on(objective, observation, level, at, fires=key in firing)
            if on != (key in firing):
                found.append(_transition(objective, observation, key, firing, at))
    for key, fired_at in firing.items():
        if key.slo == objective.name and key.tenant_id not in observed and key.level is not Level.NO_DATA:
            found.append(
                Transition(
                    key=key,
                    verdict=RESOLVED,
                    starts_at=at,
                    fired_at=fired_at,
                    message=f"{objective.title}: nothing was counted in the whole period, so nothing burns any more.",
                    figures={"starts_at_us": fired_at * _MICROSECONDS},
                )
            )
    return found


def after(firing: Firing, changes: Iterable[Transition]) -> dict[Key, int]:
    """The alerts that are on once the changes are published."""
    left = dict(firing)
    for change in changes:
        if change.verdict == FIRING:
            left[change.key] = change.starts_at
        else:
            left.pop(change.key, None)
    return left


def violation_row(change: Transition) -> dict[str, Any]:
    """The row of ``violations`` that a transition is published as."""
    return {
        "tenant_id": change.key.tenant_id,
        "agent_id": "",
        "violation_id": change.id,
        "kind": ViolationKind.SLO.value,
        "code": NO_DATA if change.key.level is Level.NO_DATA else BURN_RATE,
        "severity": change.key.level.value,
        "message": change.message,
        "evidence": orjson.dumps(change.figures).decode(),
        "constraint_id": change.key.slo,
        "verdict": change.verdict,
        "action": "reported",
        "trace_id": "",
        "run_id": "",
        "event_id": None,
        "step_id": None,
        "tool_use_id": None,
        "occurred_at": change.starts_at * _MICROSECONDS,
        "sample_event_ids": list(change.sample_event_ids),
    }


def recovered(rows: Iterable[Mapping[str, Any]]) -> dict[Key, int]:
    """The alerts that are on, from all transitions that were ever published, in any order."""
    latest: dict[Key, tuple[int, str]] = {}
    levels = {level.value: level for level in Level}
    for row in rows:
        level = levels.get(row["severity"])
        if row["kind"] != ViolationKind.SLO or level is None or row["verdict"] not in {FIRING, RESOLVED}:
            continue  # somebody else's
        key = Key(row["tenant_id"], row["constraint_id"] or "", level)
        # At the same second an end follows a beginning.
        latest[key] = max(latest.get(key, (-1, "")), (row["occurred_at"], row["verdict"]))
    return {key: moment // _MICROSECONDS for key, (moment, verdict) in latest.items() if verdict == FIRING}


def _on(objective: Objective, observation: Observation, level: Level, at: int, *, fires: bool) -> bool:
    if level is Level.NO_DATA:
        return silent(objective, observation, at)
    pairs = [pair for pair in PAIRS if pair.level is level]
    if any(exceeds(pair, objective, observation) for pair in pairs):
        return True
    return fires and any(undecided(pair, objective, observation) for pair in pairs)


def _transition(objective: Objective, observation: Observation, key: Key, firing: Firing, at: int) -> Transition:
    ends = key in firing
    fired_at = firing.get(key, at)
    figures = {"starts_at_us": fired_at * _MICROSECONDS, **figures_of(objective, observation)}
    return Transition(
        key=key,
        verdict=RESOLVED if ends else FIRING,
        starts_at=at,
        fired_at=fired_at,
        message=_message(objective, observation, key.level, ends=ends),
        figures=figures,
    )


def figures_of(objective: Objective, observation: Observation) -> dict[str, Any]:
    """The budget of one objective for one tenant, as every reader shows it."""
    period = observation.counts[objective.period_s]
    left = budget_left(period, objective.target)
    pace = burn_rate(observation.counts[PACE_S], objective.target)
    exhausted = time_to_exhaustion_s(left, pace, objective.period_s)
    return {
        "target": objective.target,
        "bad": period.bad,
        "total": period.total,
        "budget_left": round(left, 6),
        "exhausted_in_s": None if exhausted is None else round(exhausted),
        "burn": {
            str(seconds): round(burn_rate(count, objective.target), 4)
            for seconds, count in sorted(observation.counts.items())
        },
    }


def _message(objective: Objective, observation: Observation, level: Level, *, ends: bool) -> str:
    if level is Level.NO_DATA:
        if ends:
            return f"{objective.title}: events are counted again."
        minutes = (objective.no_data_after_s or 0) // 60
        return (
            f"{objective.title}: no event was counted for more than {minutes} minutes. "
            "Look whether agents run and whether worker and sink do."
        )
    if ends:
        return f"{objective.title}: the error budget is no longer spent too fast."
    pair, rate = fastest(objective, observation, level)
    left = budget_left(observation.counts[objective.period_s], objective.target)
    budget = f"{left:.0%} of it is left" if left > 0 else f"{1 - left:.1f} times the budget is gone"
    return (
        f"{objective.title}: the error budget is spent {rate:.1f} times too fast over {_spoken(pair.long_s)}, "
        f"{budget}. Look at the sample events."
    )


def _spoken(seconds: int) -> str:
    """A window as people say it."""
    for size, unit in ((86_400, "days"), (3600, "hours")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size} {unit if seconds > size else unit[:-1]}"
    return f"{seconds // 60} minutes"
