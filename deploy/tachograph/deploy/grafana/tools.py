"""Panels of tools, from the rollups by the minute. ``used`` is the condition: whose calls, and when."""

from tachograph.deploy.grafana.panel import Column, Panel
from tachograph.deploy.grafana.variables import NOT_BY_ENVIRONMENT


def tool_calls(used: str) -> Panel:
    """Calls over time."""
    return Panel(
        title="Tool calls",
        says=f"Calls, those that failed, and those that a hook stopped. {NOT_BY_ENVIRONMENT}",
        kind="timeseries",
        sql=f"""\
SELECT $__timeInterval(minute) AS time, sum(calls) AS called, sum(errors) AS failed, sum(stopped) AS stopped_by_hook
FROM tool_usage_by_minute {used}
GROUP BY time
ORDER BY time""",
    )


def tool_latencies(used: str) -> Panel:
    """Durations over time."""
    return Panel(
        title="How long tools take",
        says=f"Quantiles of all tools together, within 1 %. {NOT_BY_ENVIRONMENT}",
        kind="timeseries",
        unit="ms",
        sql=f"""\
WITH quantilesDDMerge(0.01, 0.5, 0.9, 0.95, 0.99)(latency_ms) AS latencies
SELECT $__timeInterval(minute) AS time, latencies[1] AS p50, latencies[3] AS p95, latencies[4] AS p99
FROM tool_minutes {used}
GROUP BY time
HAVING sum(timed) > 0
ORDER BY time""",
    )


def tools(used: str, *, width: int = 8) -> Panel:
    """One line for each tool."""
    return Panel(
        title="Tools",
        says=f"Which are called most, which fail, which are slow. {NOT_BY_ENVIRONMENT}",
        kind="table",
        columns={
            "failed": Column(unit="percentunit", steps=((0.05, "orange"), (0.2, "red"))),
            "p50_ms": Column(unit="ms"),
            "p95_ms": Column(unit="ms"),
            "p99_ms": Column(unit="ms"),
        },
        sql=f"""\
WITH quantilesDDMerge(0.01, 0.5, 0.9, 0.95, 0.99)(latency_ms) AS latencies
SELECT
    tool_name,
    sum(calls) AS called,
    sum(errors) / sum(calls) AS failed,
    sum(stopped) AS stopped_by_hook,
    sum(incomplete) AS not_whole,
    if(sum(timed) = 0, NULL, latencies[1]) AS p50_ms,
    if(sum(timed) = 0, NULL, latencies[3]) AS p95_ms,
    if(sum(timed) = 0, NULL, latencies[4]) AS p99_ms
FROM tool_minutes {used}
GROUP BY tool_name
ORDER BY called DESC, tool_name
LIMIT 100""",
        width=width,
    )
