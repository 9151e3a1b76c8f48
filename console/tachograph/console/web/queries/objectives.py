"""Objectives of one tenant: how they stand, how they stood, and what was announced."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from tachograph.console.database import QueryRefusedError
from tachograph.console.slo.alerting import figures_of
from tachograph.console.slo.burn import PAIRS, budget_left, held_back
from tachograph.console.slo.counting import observe
from tachograph.console.slo.objective import Count, Objective
from tachograph.console.web.database import TENANT, Row, TenantDatabase

BUCKETS: Final = 60
"""Columns of the history, over one period."""


def standing(database: TenantDatabase, objective: Objective, at: int) -> dict[str, Any]:
    """Budget and burn rates now; ``trouble`` if it cannot be evaluated, ``held`` if it burns and gives no alert."""
    bound = replace(objective, total=f"({objective.total}) AND tenant_id = {TENANT}")
    try:
        found = observe(database, bound, at)
    except QueryRefusedError as error:
        return {"objective": objective, "trouble": str(error), "figures": None, "held": None}
    figures = figures_of(objective, found[0]) if found else None
    held = (held_back(pair, objective, found[0]) for pair in PAIRS) if found else ()
    return {"objective": objective, "trouble": "", "figures": figures, "held": next(filter(None, held), None)}


def history(database: TenantDatabase, objective: Objective, at: int) -> list[tuple[datetime, int, int, float]]:
    """Moment, bad, total, and the budget that was left over the period before that moment."""
    width = objective.period_s // BUCKETS
    # Conditions are the operator's own, checked when they were read.
    rows = database.ask(
        f"""
SELECT intDiv(toUnixTimestamp64Micro(occurred_at), 1000000 * {width}) AS bucket,
    countIf(ifNull({objective.bad}, 0)) AS bad, count() AS total
FROM {objective.table}
WHERE tenant_id = {TENANT} AND occurred_at > toDateTime64({{at:Int64}}, 6, 'UTC') - {2 * objective.period_s}
    AND occurred_at <= toDateTime64({{at:Int64}}, 6, 'UTC') AND ({objective.total})
GROUP BY bucket
""",  # noqa: S608 - see above
        at=at,
    )
    counted = {row["bucket"]: (row["bad"], row["total"]) for row in rows}
    last = at // width
    found = []
    for bucket in range(last - BUCKETS + 1, last + 1):
        window = [counted.get(each, (0, 0)) for each in range(bucket - BUCKETS + 1, bucket + 1)]
        period = Count(sum(bad for bad, _ in window), sum(total for _, total in window))
        bad, total = counted.get(bucket, (0, 0))
        moment = datetime.fromtimestamp((bucket + 1) * width, UTC)
        found.append((moment, bad, total, budget_left(period, objective.target)))
    return found


def alerts(database: TenantDatabase, name: str = "", most: int = 20) -> list[Row]:
    """What was announced, latest first."""
    return database.ask(
        "SELECT violation_id, occurred_at, code, severity, verdict, message, constraint_id, sample_event_ids "
        "FROM violations WHERE tenant_id = {tenant:String} AND kind = 'slo' "
        "AND ({name:String} = '' OR constraint_id = {name:String}) "
        "ORDER BY occurred_at DESC LIMIT 1 BY violation_id LIMIT {most:UInt32}",
        name=name,
        most=most,
    )


def firing(database: TenantDatabase) -> set[tuple[str, str]]:
    """Objective and severity of the alerts that are on."""
    rows = database.ask(
        "SELECT constraint_id, severity, argMax(verdict, (occurred_at, verdict)) AS last FROM violations "
        "WHERE tenant_id = {tenant:String} AND kind = 'slo' GROUP BY constraint_id, severity"
    )
    return {(row["constraint_id"] or "", row["severity"]) for row in rows if row["last"] == "firing"}
