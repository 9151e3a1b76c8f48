"""One query for each objective: every window at once, for every tenant, by the time at which events happened.

Events are counted by whole minutes, and by whole hours where they are older than any window of an alert. The tables of
the shipped objectives keep such counts beside their rows, as projections, so that a period of thirty days is some
thousand numbers and not millions of rows. A condition that asks for other columns than a projection has is counted from
the rows: the same figures, more slowly.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final, Protocol

from tachograph.console.slo.burn import windows
from tachograph.console.slo.objective import Count, Objective, Observation

MINUTE_S: Final = 60
SAMPLES: Final = 5
_SAMPLED_S: Final = 6 * 3600
"""The longest of the short windows: an alert that begins has a bad event in it."""


class Rows(Protocol):
    """Whoever answers queries."""

    def rows(self, sql: str, parameters: dict[str, Any]) -> Sequence[Sequence[Any]]:
        """Rows of a query."""


def counting_sql(objective: Objective) -> str:
    """The query: events by tenant and by the shortest window that holds them.

    Windows end before the minute ``at``. An event that came late is counted where it belongs, at the next evaluation.
    """
    # The age of a minute is that of its beginning, so the last minute of a window is exactly as old as the window.
    *alerting, _ = spans = windows(objective)
    edges = [0, *(span + MINUTE_S for span in alerting)]
    # Whole hours of the time in which only the period itself is asked for: all of it is older than the last edge.
    oldest, newest = (
        f"toStartOfHour(moment - {spans[-1]} + INTERVAL 59 MINUTE)",
        f"toStartOfHour(moment - {alerting[-1]})",
    )
    minute, hour = "toStartOfMinute(occurred_at)", "toStartOfHour(occurred_at)"
    # Names and conditions are the operator's own, checked when they were read; the account may only read. The
    # expressions are written as the projections have them, or ClickHouse would not see that they are the same; the
    # setting keeps it from rewriting IS NULL before it looks.
    return f"""
WITH toDateTime({{at:Int64}}, 'UTC') AS moment
SELECT tenant_id, roundDown(toUInt32(moment - {minute}), {edges}) AS age, ifNull({objective.bad}, 0) AS is_bad,
    count() AS events, toUnixTimestamp64Micro(max(occurred_at)) AS last_us
FROM {objective.table}
WHERE {minute} >= moment - {objective.period_s} AND {minute} < moment
    AND ({minute} >= {newest} OR {minute} < {oldest})
    AND ({objective.total})
GROUP BY tenant_id, age, is_bad
UNION ALL
SELECT tenant_id, {edges[-1]} AS age, ifNull({objective.bad}, 0) AS is_bad,
    count() AS events, toUnixTimestamp64Micro(max(occurred_at)) AS last_us
FROM {objective.table}
WHERE {hour} >= {oldest} AND {hour} < {newest} AND ({objective.total})
GROUP BY tenant_id, age, is_bad
SETTINGS optimize_functions_to_subcolumns = 0
"""  # noqa: S608 - see above


def observe(database: Rows, objective: Objective, at: int) -> list[Observation]:
    """What the objective's table says at ``at``, a whole minute, for each tenant that has events in the period."""
    spans = windows(objective)
    places = {edge: place for place, edge in enumerate([0, *(span + MINUTE_S for span in spans[:-1])])}
    bad: dict[str, list[int]] = defaultdict(lambda: [0] * len(spans))
    total: dict[str, list[int]] = defaultdict(lambda: [0] * len(spans))
    last: dict[str, int] = defaultdict(int)
    for tenant, age, is_bad, events, last_us in database.rows(counting_sql(objective), {"at": at}):
        total[tenant][places[age]] += events
        bad[tenant][places[age]] += events if is_bad else 0
        last[tenant] = max(last[tenant], last_us)
    return [
        Observation(
            tenant_id=tenant,
            counts={
                span: Count(*counted)
                for span, *counted in zip(spans, accumulate(bad[tenant]), accumulate(total[tenant]), strict=True)
            },
            last_event_at=last[tenant] / 1_000_000,
        )
        for tenant in sorted(total)
    ]


def samples(database: Rows, objective: Objective, tenant_id: str, at: int) -> tuple[str, ...]:
    """A few of the latest bad events before ``at``: where to begin to look. Asked only when an alert begins."""
    sql = f"""
WITH toDateTime64({{at:Int64}}, 6, 'UTC') AS moment
SELECT toString(event_id)
FROM {objective.table}
WHERE tenant_id = {{tenant:String}} AND occurred_at >= moment - {_SAMPLED_S} AND occurred_at < moment
    AND ({objective.total}) AND ifNull({objective.bad}, 0) AND ifNull(toString(event_id), '') != ''
ORDER BY occurred_at DESC, event_id
LIMIT {SAMPLES}
"""  # noqa: S608 - as above
    return tuple(event for (event,) in database.rows(sql, {"at": at, "tenant": tenant_id}))
