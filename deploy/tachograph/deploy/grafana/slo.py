"""Objectives of a tenant: error budgets, burn rates in the windows that alerts look at, and what was announced.

The figures of now are counted by the evaluator's own query, so the two cannot disagree. They are those of the end of
the time range; the evaluator looks a little further back (``slo.lateness_s``), to give late events their time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from tachograph.console.slo.burn import PACE_S, PAIRS, windows
from tachograph.console.slo.counting import MINUTE_S, counting_sql
from tachograph.console.slo.objective import Objective
from tachograph.deploy.grafana.dashboard import Dashboard, Section
from tachograph.deploy.grafana.panel import Column, Panel, Step
from tachograph.deploy.grafana.variables import CONSOLE, IS_TENANT, TENANT, TO_OBJECTIVE

_PERIOD_S: Final = 30 * 86_400
"""Period whose thresholds colour the burn rates: that of every shipped objective."""
_NOW: Final = "toUnixTimestamp(toStartOfMinute($__toTime))"
_ANNOUNCED: Final = f"violations WHERE {IS_TENANT} AND kind = 'slo'"


def slo(objectives: Sequence[Objective]) -> Dashboard:
    """The dashboard of these objectives."""
    return Dashboard(
        name="slo",
        title="Tachograph: objectives",
        says="Error budgets, burn rates and alerts of a tenant's objectives.",
        variables=(TENANT, CONSOLE),
        since="now-7d",
        sections=(
            Section("Now", _now(objectives)),
            Section("Over time", _history(objectives)),
            Section("Alerts", _alerts()),
        ),
    )


def _now(objectives: Sequence[Objective]) -> list[Panel]:
    spans = sorted({length for pair in PAIRS for length in (pair.long_s, pair.short_s)})
    return [
        Panel(
            title="Error budget left",
            says="1 is untouched, 0 is spent, below 0 is overspent. At the end of the time range.",
            kind="bargauge",
            unit="percentunit",
            steps=(),
            width=8,
            height=10,
            sql=_union(
                f"SELECT '{each.name}' AS objective, {_left(each)} AS budget_left\nFROM ({_counted(each)})"
                for each in objectives
            ),
        ),
        Panel(
            title="Burn rates",
            says=(
                "How fast the budget is spent: at 1, a period spends exactly its budget. The hour (with 5 minutes) and "
                "six hours (with 30) page; a day (with 2 hours) and three days (with 6 hours) open a ticket."
            ),
            kind="table",
            width=16,
            height=10,
            columns={
                "objective": TO_OBJECTIVE,
                "target": Column(unit="percentunit"),
                "budget_left": Column(unit="percentunit"),
                "exhausted_in_s": Column(unit="s"),
                **{f"burn_{_short(span)}": Column(steps=_steps(span)) for span in spans},
            },
            sql=_union(_standing(each, spans) for each in objectives),
        ),
        Panel(
            title="Alerts on",
            says="Alerts that began and have not ended, whenever that was.",
            kind="stat",
            steps=((1, "red"),),
            width=4,
            height=6,
            sql=f"SELECT countIf(last = 'firing') AS alerts\nFROM ({_last()})",
        ),
        Panel(
            title="Which alerts are on",
            says="Objective, severity, and since when.",
            kind="table",
            width=20,
            height=6,
            columns={"objective": TO_OBJECTIVE},
            sql=f"""\
SELECT objective, severity, code, since
FROM ({_last()})
WHERE last = 'firing'
ORDER BY since""",
        ),
    ]


def _history(objectives: Sequence[Objective]) -> list[Panel]:
    return [
        Panel(
            title="Burn rate",
            says="Of each bucket alone. The lines are where a day, six hours and one hour would alert.",
            kind="timeseries",
            width=12,
            interval="1h",
            steps=((3, "yellow"), (6, "orange"), (14.4, "red")),
            sql=_union(
                (
                    _bucketed(each, f"countIf(ifNull({each.bad}, 0)) / count() / {_allowed(each)} AS burn")
                    for each in objectives
                ),
                "time, objective",
            ),
        ),
        Panel(
            title="Bad events",
            says="Events that broke an objective.",
            kind="timeseries",
            bars=True,
            stacked=True,
            width=12,
            interval="1h",
            sql=_union(
                (_bucketed(each, f"countIf(ifNull({each.bad}, 0)) AS bad") for each in objectives), "time, objective"
            ),
        ),
    ]


def _alerts() -> list[Panel]:
    return [
        Panel(
            title="What was announced",
            says="Alerts that began or ended in the time range, latest first, with events to look at.",
            kind="table",
            width=24,
            columns={"objective": TO_OBJECTIVE},
            sql=f"""\
SELECT
    occurred_at AS at,
    constraint_id AS objective,
    severity,
    code,
    verdict,
    arrayStringConcat(sample_event_ids, ', ') AS sample_event_ids
FROM {_ANNOUNCED} AND $__timeFilter(occurred_at)
ORDER BY at DESC
LIMIT 1 BY violation_id
LIMIT 100""",
        ),
    ]


def _counted(objective: Objective) -> str:
    """Rows of one tenant: ``age``, ``is_bad``, ``events``."""
    bound = replace(objective, total=f"({objective.total}) AND {IS_TENANT}")
    return counting_sql(bound).replace("{at:Int64}", _NOW)


def _standing(objective: Objective, spans: Sequence[int]) -> str:
    burns = ",\n    ".join(f"{_burn(objective, span)} AS burn_{_short(span)}" for span in spans)
    return f"""\
SELECT
    '{objective.name}' AS objective,
    {objective.target} AS target,
    sumIf(events, is_bad) AS bad,
    sum(events) AS total,
    {_left(objective)} AS budget_left,
    multiIf(
        budget_left <= 0, 0,
        {_burn(objective, PACE_S)} > 0, round(budget_left * {objective.period_s} / {_burn(objective, PACE_S)}),
        NULL
    ) AS exhausted_in_s,
    {burns}
FROM ({_counted(objective)})"""


def _left(objective: Objective) -> str:
    return f"1 - {_burn(objective, objective.period_s)}"


def _burn(objective: Objective, span: int) -> str:
    """Burn rate over one window. A row's age is the edge below it, so a window holds every edge before its own end."""
    lengths = windows(objective)
    place = lengths.index(span)
    edge = lengths[place - 1] + MINUTE_S if place else 0
    total = f"sumIf(events, age <= {edge})"
    return f"if({total} = 0, 0, sumIf(events, is_bad AND age <= {edge}) / {total} / {_allowed(objective)})"


def _allowed(objective: Objective) -> str:
    return f"(1 - {objective.target})"


def _bucketed(objective: Objective, figure: str) -> str:
    return f"""\
SELECT $__timeInterval(occurred_at) AS time, '{objective.name}' AS objective, {figure}
FROM {objective.table}
WHERE {IS_TENANT} AND $__timeFilter(occurred_at) AND ({objective.total})
GROUP BY time"""


def _last() -> str:
    return (
        "SELECT constraint_id AS objective, severity, argMax(code, (occurred_at, verdict)) AS code, "
        "argMax(verdict, (occurred_at, verdict)) AS last, max(occurred_at) AS since "
        f"FROM {_ANNOUNCED} GROUP BY objective, severity"
    )


def _union(parts: Iterable[str], order: str = "objective") -> str:
    together = "\nUNION ALL\n".join(parts)
    return f"SELECT * FROM\n(\n{together}\n)\nORDER BY {order}"


def _short(seconds: int) -> str:
    """A window's length, as 5m, 6h or 3d."""
    for unit, length in (("d", 86_400), ("h", 3600)):
        if seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds // 60}m"


def _steps(span: int) -> tuple[Step, ...]:
    """Red from where the window's pair alerts; the least of them, where a window is in two."""
    return ((min(pair.threshold(_PERIOD_S) for pair in PAIRS if span in {pair.long_s, pair.short_s}), "red"),)
