"""Service level objectives: what is promised, what is left, how fast it goes."""

import time

from starlette.responses import Response

from tachograph.console.slo.burn import PAIRS
from tachograph.console.slo.evaluator import moment_of
from tachograph.console.slo.objective import Objective
from tachograph.console.slo.shipped import objectives as configured
from tachograph.console.web.asked import Asked, PageError
from tachograph.console.web.queries import objectives as queries

LOWEST = -1.0
"""Where the chart of the budget ends below: overspent once more."""


def _moment(asked: Asked) -> int:
    slo = asked.services.settings.slo
    return moment_of(time.time(), slo.every_s, slo.lateness_s)


def objectives(asked: Asked) -> Response:
    """Every objective of the tenant, and what was announced lately."""
    at, database = _moment(asked), asked.database
    known: list[Objective] = configured(asked.services.settings)
    *standings, announced, firing = database.together(
        *((lambda each=each: queries.standing(database, each, at)) for each in known),
        lambda: queries.alerts(database),
        lambda: queries.firing(database),
    )
    return asked.page(
        "objectives.html",
        standings=standings,
        alerts=announced,
        firing={name for name, _ in firing},
        pairs=PAIRS,
    )


def objective(asked: Asked) -> Response:
    """One objective with its history."""
    known = {each.name: each for each in configured(asked.services.settings)}
    found = known.get(asked.query("name"))
    if found is None:
        raise PageError(404, "There is no objective of that name.")
    at, database = _moment(asked), asked.database
    standing, history, announced, firing = database.together(
        lambda: queries.standing(database, found, at),
        lambda: queries.history(database, found, at),
        lambda: queries.alerts(database, found.name),
        lambda: queries.firing(database),
    )
    return asked.page(
        "objective.html",
        **standing,
        events=[(moment, bad, total) for moment, bad, total, _ in history] if any(row[2] for row in history) else [],
        budget=[(moment, left) for moment, _, _, left in history],
        least=max(LOWEST, min(0.0, *(row[3] for row in history))),
        alerts=announced,
        firing=[severity for name, severity in firing if name == found.name],
        pairs=PAIRS,
    )
