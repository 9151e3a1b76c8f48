"""Agents, summed up."""

from starlette.responses import Response

from tachograph.console.web.asked import Asked
from tachograph.console.web.queries import agents as queries
from tachograph.console.web.queries.runs import PERIODS

DEFAULT = "7d"


def agents(asked: Asked) -> Response:
    """One row per agent for a period."""
    asked_for = asked.query("period")
    period = asked_for if asked_for in PERIODS else DEFAULT
    return asked.page(
        "agents.html",
        agents=queries.agents(asked.database, asked.now - PERIODS[period]),
        period=period,
        periods=tuple(PERIODS),
    )
