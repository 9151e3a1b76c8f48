"""One query for each objective: every window at once, for every tenant, by the time at which events happened."""

from collections.abc import Sequence
from typing import Any, Final, Protocol

from tachograph.console.slo.burn import windows
from tachograph.console.slo.objective import Count, Objective, Observation

SAMPLES: Final = 5
_SAMPLED_S: Final = 6 * 3600


class Rows(Protocol):
    """Whoever answers queries."""

    def rows(self, sql: str, parameters: dict[str, Any]) -> Sequence[Sequence[Any]]:
        """Rows of a query."""


def counting_sql(objective: Objective) -> str:
    """The query. Windows end at ``at``; an event that came late is counted where it belongs, at the next evaluation."""
    spans = windows(objective)
    counted = ",\n    ".join(
        f"countIf(is_bad AND occurred_at > moment - {span}) AS bad_{span}, "
        f"countIf(occurred_at > moment - {span}) AS total_{span}"
        for span in spans
    )
    # Names and conditions are the operator's own, checked when they were read; the account may only read.
    return f"""
WITH toDateTime64({{at:Int64}}, 6, 'UTC') AS moment
SELECT
    tenant_id,
    toUnixTimestamp64Micro(max(occurred_at)) AS last_event_us,
    arrayMap(pair -> pair.2, groupArraySortedIf({SAMPLES})(
        (-toUnixTimestamp64Micro(occurred_at), event), is_bad AND event != '' AND occurred_at > moment - {_SAMPLED_S}
    )) AS samples,
    {counted}
FROM (
    SELECT tenant_id, occurred_at, ifNull(toString(event_id), '') AS event, ifNull({objective.bad}, 0) AS is_bad
    FROM {objective.table}
    WHERE occurred_at > moment - {objective.period_s} AND occurred_at <= moment AND ({objective.total})
)
GROUP BY tenant_id
ORDER BY tenant_id
"""  # noqa: S608 - see above


def observe(database: Rows, objective: Objective, at: int) -> list[Observation]:
    """What the objective's table says at the second ``at``, for each tenant that has events in the period."""
    spans = windows(objective)
    found = []
    for tenant, last_us, samples, *counts in database.rows(counting_sql(objective), {"at": at}):
        pairs = zip(counts[::2], counts[1::2], strict=True)
        found.append(
            Observation(
                tenant_id=tenant,
                counts={span: Count(bad, total) for span, (bad, total) in zip(spans, pairs, strict=True)},
                last_event_at=last_us / 1_000_000,
                sample_event_ids=tuple(samples),
            )
        )
    return found
