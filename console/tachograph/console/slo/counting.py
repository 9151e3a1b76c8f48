"""One query for each table: every window at once, for every tenant, by the time at which events happened.

Events are counted by whole minutes, and by whole hours where they are older than any window of an alert. The tables of
the shipped objectives keep such counts beside their rows, as projections, so that a period of thirty days is some
thousand numbers and not millions of rows. A condition that asks for other columns than a projection has is counted from
the rows: the same figures, more slowly.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import Any, Final, Protocol

from tachograph.console.database import QueryRefusedError
from tachograph.console.slo.burn import windows
from tachograph.console.slo.objective import Count, Objective, Observation

MINUTE_S: Final = 60
SAMPLES: Final = 5
QUERIES_AT_ONCE: Final = 4
_SAMPLED_S: Final = 6 * 3600
"""The longest of the short windows: an alert that begins has a bad event in it."""


Observed = list[Observation] | QueryRefusedError
"""What one objective's table said, or why it could not be asked."""


class Rows(Protocol):
    """Whoever answers queries, also from several threads at once."""

    def rows(self, sql: str, parameters: dict[str, Any]) -> Sequence[Sequence[Any]]:
        """Rows of a query."""


def counting_sql(objective: Objective) -> str:
    """The query for one objective: events by tenant, by the shortest window that holds them, by whether they are bad.

    Windows end before the minute ``at``. An event that came late is counted where it belongs, at the next evaluation.
    """
    return _sql(objective, {"is_bad": objective.bad}, f"({objective.total})")


def shared_sql(objectives: Sequence[Objective]) -> str:
    """The query for objectives of one table and period: for each, whether events count and whether they are bad."""
    kinds: dict[str, str] = {}
    for number, objective in enumerate(objectives):
        kinds |= {f"counts_{number}": objective.total, f"is_bad_{number}": objective.bad}
    counted = " OR ".join(f"({objective.total})" for objective in objectives)
    return _sql(objectives[0], kinds, f"({counted})")


def _sql(objective: Objective, kinds: Mapping[str, str], counted: str) -> str:
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
    flags, keys = ", ".join(f"ifNull({sql}, 0) AS {name}" for name, sql in kinds.items()), ", ".join(kinds)
    return f"""
WITH toDateTime({{at:Int64}}, 'UTC') AS moment
SELECT tenant_id, roundDown(toUInt32(moment - {minute}), {edges}) AS age, {flags},
    count() AS events, toUnixTimestamp64Micro(max(occurred_at)) AS last_us
FROM {objective.table}
WHERE {minute} >= moment - {objective.period_s} AND {minute} < moment
    AND ({minute} >= {newest} OR {minute} < {oldest})
    AND {counted}
GROUP BY tenant_id, age, {keys}
UNION ALL
SELECT tenant_id, {edges[-1]} AS age, {flags},
    count() AS events, toUnixTimestamp64Micro(max(occurred_at)) AS last_us
FROM {objective.table}
WHERE {hour} >= {oldest} AND {hour} < {newest} AND {counted}
GROUP BY tenant_id, age, {keys}
SETTINGS optimize_functions_to_subcolumns = 0
"""  # noqa: S608 - see above


def observe_all(database: Rows, objectives: Sequence[Objective], at: int) -> list[Observed]:
    """What the tables say at ``at``, a whole minute, for each objective in order.

    That is an observation for each tenant that has events in the period, or why the objective could not be asked.
    Most of a query's time goes into planning it, so objectives share one where they can, and queries run side by side.
    """
    together: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, objective in enumerate(objectives):
        together[objective.table, objective.period_s].append(number)
    found: list[Observed] = [[] for _ in objectives]
    with ThreadPoolExecutor(max_workers=QUERIES_AT_ONCE) as pool:
        asked = pool.map(lambda group: _ask(database, [objectives[number] for number in group], at), together.values())
        for numbers, answers in zip(together.values(), asked, strict=True):
            for number, answer in zip(numbers, answers, strict=True):
                found[number] = answer
    return found


def observe(database: Rows, objective: Objective, at: int) -> list[Observation]:
    """One objective alone. Raises QueryRefusedError if it cannot be asked."""
    (found,) = _counted(database, [objective], at)
    return found


def _ask(database: Rows, objectives: Sequence[Objective], at: int) -> list[Observed]:
    try:
        return list(_counted(database, objectives, at))
    except QueryRefusedError as error:
        # One of them is wrong; the others of the table must not suffer for it.
        return [error] if len(objectives) == 1 else [_ask(database, [objective], at)[0] for objective in objectives]


def _counted(database: Rows, objectives: Sequence[Objective], at: int) -> list[list[Observation]]:
    spans = windows(objectives[0])
    places = {edge: place for place, edge in enumerate([0, *(span + MINUTE_S for span in spans[:-1])])}
    counts = [_Counts(spans) for _ in objectives]
    for tenant, age, *kinds, events, last_us in database.rows(shared_sql(objectives), {"at": at}):
        for number, counted in enumerate(counts):
            if kinds[2 * number]:
                counted.add(tenant, places[age], events, last_us, is_bad=bool(kinds[2 * number + 1]))
    return [counted.observations() for counted in counts]


class _Counts:
    """What was counted of one objective, by tenant and by the shortest window that holds it."""

    def __init__(self, spans: Sequence[int]) -> None:
        self._spans = spans
        self._bad: dict[str, list[int]] = defaultdict(lambda: [0] * len(spans))
        self._total: dict[str, list[int]] = defaultdict(lambda: [0] * len(spans))
        self._last: dict[str, int] = defaultdict(int)

    def add(self, tenant: str, place: int, events: int, last_us: int, *, is_bad: bool) -> None:
        self._total[tenant][place] += events
        self._bad[tenant][place] += events if is_bad else 0
        self._last[tenant] = max(self._last[tenant], last_us)

    def observations(self) -> list[Observation]:
        return [
            Observation(
                tenant_id=tenant,
                counts={
                    span: Count(*counted)
                    for span, *counted in zip(
                        self._spans, accumulate(self._bad[tenant]), accumulate(self._total[tenant]), strict=True
                    )
                },
                last_event_at=self._last[tenant] / 1_000_000,
            )
            for tenant in sorted(self._total)
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
