"""All agents of a tenant: how runs end, what is violated, how tools and models do, what it costs."""

from typing import Final

from tachograph.deploy.grafana.dashboard import Dashboard, Section
from tachograph.deploy.grafana.panel import Column, Panel
from tachograph.deploy.grafana.variables import (
    AGENTS,
    CONSOLE,
    ENVIRONMENT,
    IS_AGENT,
    IS_ENVIRONMENT,
    IS_TENANT,
    TENANT,
    TO_AGENT,
    TO_RUN,
    TO_TRACE,
)

_ENDED: Final = (
    f"agent_runs WHERE {IS_TENANT} AND {IS_AGENT} AND {IS_ENVIRONMENT}\n"
    "    AND $__timeFilter(occurred_at) AND event_type != 'run_started'"
)
"""Ends of runs, and silences: a run that fell silent and ended after all has both, so runs are counted by id."""
_VIOLATIONS: Final = (
    f"violations WHERE {IS_TENANT} AND {IS_AGENT} AND $__timeFilter(occurred_at)\n    AND kind != 'slo'"
)
_USED: Final = f"WHERE {IS_TENANT} AND {IS_AGENT} AND $__timeFilter(minute)"
_BROKEN: Final = "status IN ('failed', 'aborted', 'SYSTEM_ERROR')"

_NOT_BY_ENVIRONMENT: Final = "Of every environment: the rollups do not tell them apart."


def fleet() -> Dashboard:
    """The dashboard to begin with."""
    return Dashboard(
        name="fleet",
        title="Tachograph: fleet",
        says="Runs, violations, tools, models and cost of a tenant's agents.",
        variables=(TENANT, AGENTS, ENVIRONMENT, CONSOLE),
        sections=(
            Section("At a glance", _glance()),
            Section("Runs", _runs()),
            Section("Violations", _violations()),
            Section("Tools", _tools()),
            Section("Models", _models()),
        ),
    )


def _glance() -> list[Panel]:
    return [
        Panel(
            title="Runs ended",
            says="Runs that ended in the period.",
            kind="stat",
            width=4,
            height=4,
            sql=f"SELECT uniqExactIf(run_id, event_type = 'run_ended') AS runs\nFROM {_ENDED}",
        ),
        Panel(
            title="Failed",
            says="Share of the ended runs that failed, were aborted, or stopped with SYSTEM_ERROR.",
            kind="stat",
            unit="percentunit",
            steps=((0.05, "orange"), (0.2, "red")),
            width=4,
            height=4,
            sql=f"""\
SELECT if(uniqExact(run_id) = 0, NULL, uniqExactIf(run_id, {_BROKEN}) / uniqExact(run_id)) AS failed
FROM {_ENDED} AND event_type = 'run_ended'""",
        ),
        Panel(
            title="Not whole",
            says="Runs of which a record is missing, or that fell silent without an end.",
            kind="stat",
            steps=((1, "red"),),
            width=4,
            height=4,
            sql=f"SELECT uniqExactIf(run_id, completeness = 'incomplete') AS runs\nFROM {_ENDED}",
        ),
        Panel(
            title="Severe violations",
            says="Violations of severity error or critical. Of every environment.",
            kind="stat",
            steps=((1, "orange"), (10, "red")),
            width=4,
            height=4,
            sql="SELECT uniqExactIf(violation_id, severity IN ('error', 'critical')) AS violations\n"
            f"FROM {_VIOLATIONS}",
        ),
        Panel(
            title="Tool failures",
            says=f"Share of tool calls that failed. {_NOT_BY_ENVIRONMENT}",
            kind="stat",
            unit="percentunit",
            steps=((0.05, "orange"), (0.2, "red")),
            width=4,
            height=4,
            sql="SELECT if(sum(calls) = 0, NULL, sum(errors) / sum(calls)) AS failed\n"
            f"FROM tool_usage_by_minute {_USED}",
        ),
        Panel(
            title="Cost",
            says=f"By the prices that `tachograph prices apply` loaded. {_NOT_BY_ENVIRONMENT}",
            kind="stat",
            unit="currencyUSD",
            width=4,
            height=4,
            sql=f"SELECT toFloat64(sum(ifNull(cost_usd, 0))) AS usd\nFROM model_usage_by_minute {_USED}",
        ),
    ]


def _runs() -> list[Panel]:
    return [
        Panel(
            title="How runs ended",
            says="Runs by the status they ended with.",
            kind="timeseries",
            bars=True,
            stacked=True,
            sql=f"""\
SELECT $__timeInterval(occurred_at) AS time, toString(status) AS status, uniqExact(run_id) AS runs
FROM {_ENDED} AND event_type = 'run_ended'
GROUP BY time, status
ORDER BY time, status""",
        ),
        Panel(
            title="Whole or not",
            says="Runs by whether every record of them arrived. A silent run counts when its last record was written.",
            kind="timeseries",
            bars=True,
            stacked=True,
            sql=f"""\
SELECT $__timeInterval(occurred_at) AS time, toString(completeness) AS completeness, uniqExact(run_id) AS runs
FROM {_ENDED}
GROUP BY time, completeness
ORDER BY time, completeness""",
        ),
        Panel(
            title="How long runs take",
            says="Of the runs that ended.",
            kind="timeseries",
            unit="ms",
            sql=f"""\
SELECT $__timeInterval(occurred_at) AS time, quantile(0.5)(duration_ms) AS p50, quantile(0.95)(duration_ms) AS p95
FROM {_ENDED} AND event_type = 'run_ended' AND isNotNull(duration_ms)
GROUP BY time
ORDER BY time""",
        ),
        Panel(
            title="Agents",
            says="One line for each agent that ended a run in the period.",
            kind="table",
            width=12,
            columns={
                "agent_id": TO_AGENT,
                "failed": Column(unit="percentunit", steps=((0.05, "orange"), (0.2, "red"))),
                "not_whole": Column(steps=((1, "red"),)),
                "p95_ms": Column(unit="ms"),
            },
            sql=f"""\
SELECT
    agent_id,
    uniqExactIf(run_id, event_type = 'run_ended') AS runs,
    if(runs = 0, NULL, uniqExactIf(run_id, {_BROKEN}) / runs) AS failed,
    uniqExactIf(run_id, completeness = 'incomplete') AS not_whole,
    quantileIf(0.95)(duration_ms, isNotNull(duration_ms)) AS p95_ms,
    sum(ifNull(input_tokens, 0)) AS tokens_in,
    sum(ifNull(output_tokens, 0)) AS tokens_out,
    arrayStringConcat(arraySort(groupUniqArray(5)(toString(agent_version))), ', ') AS versions
FROM {_ENDED}
GROUP BY agent_id
ORDER BY runs DESC, agent_id""",
        ),
        Panel(
            title="Runs to look at",
            says="The latest runs that failed or are not whole. A click leads to the run or its trace.",
            kind="table",
            width=12,
            columns={"run_id": TO_RUN, "trace_id": TO_TRACE, "agent_id": TO_AGENT},
            sql=f"""\
SELECT
    max(occurred_at) AS ended,
    agent_id,
    run_id,
    any(trace_id) AS trace_id,
    argMax(toString(status), (received_at, _offset)) AS status,
    argMax(ifNull(error_type, ''), (received_at, _offset)) AS error,
    arrayStringConcat(argMax(missing, (received_at, _offset)), '; ') AS missing
FROM {_ENDED}
GROUP BY agent_id, run_id
HAVING {_BROKEN} OR max(completeness = 'incomplete')
ORDER BY ended DESC
LIMIT 50""",
        ),
    ]


def _violations() -> list[Panel]:
    return [
        Panel(
            title="Violations by kind",
            says="Of every environment. Objectives have a dashboard of their own.",
            kind="timeseries",
            bars=True,
            stacked=True,
            sql=f"""\
SELECT $__timeInterval(occurred_at) AS time, toString(kind) AS kind, uniqExact(violation_id) AS violations
FROM {_VIOLATIONS}
GROUP BY time, kind
ORDER BY time, kind""",
        ),
        Panel(
            title="Violations by severity",
            says="Of every environment.",
            kind="timeseries",
            bars=True,
            stacked=True,
            sql=f"""\
SELECT $__timeInterval(occurred_at) AS time, toString(severity) AS severity, uniqExact(violation_id) AS violations
FROM {_VIOLATIONS}
GROUP BY time, severity
ORDER BY time, severity""",
        ),
        Panel(
            title="What was violated",
            says="Codes, how often, and in how many runs.",
            kind="table",
            sql=f"""\
SELECT
    kind,
    code,
    severity,
    uniqExact(violation_id) AS violations,
    uniqExact(run_id) AS runs,
    max(occurred_at) AS last_seen
FROM {_VIOLATIONS}
GROUP BY kind, code, severity
ORDER BY violations DESC, code
LIMIT 100""",
        ),
    ]


def _tools() -> list[Panel]:
    return [
        Panel(
            title="Tool calls",
            says=f"Calls, those that failed, and those that a hook stopped. {_NOT_BY_ENVIRONMENT}",
            kind="timeseries",
            sql=f"""\
SELECT $__timeInterval(minute) AS time, sum(calls) AS called, sum(errors) AS failed, sum(stopped) AS stopped_by_hook
FROM tool_usage_by_minute {_USED}
GROUP BY time
ORDER BY time""",
        ),
        Panel(
            title="How long tools take",
            says=f"Quantiles of all tools together, within 1 %. {_NOT_BY_ENVIRONMENT}",
            kind="timeseries",
            unit="ms",
            sql=f"""\
WITH quantilesDDMerge(0.01, 0.5, 0.9, 0.95, 0.99)(latency_ms) AS latencies
SELECT $__timeInterval(minute) AS time, latencies[1] AS p50, latencies[3] AS p95, latencies[4] AS p99
FROM tool_minutes {_USED}
GROUP BY time
HAVING sum(timed) > 0
ORDER BY time""",
        ),
        Panel(
            title="Tools",
            says=f"Which are called most, which fail, which are slow. {_NOT_BY_ENVIRONMENT}",
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
FROM tool_minutes {_USED}
GROUP BY tool_name
ORDER BY called DESC, tool_name
LIMIT 100""",
        ),
    ]


def _models() -> list[Panel]:
    return [
        Panel(
            title="Tokens by model",
            says=f"Sent and received. {_NOT_BY_ENVIRONMENT}",
            kind="timeseries",
            bars=True,
            stacked=True,
            sql=f"""\
SELECT
    $__timeInterval(minute) AS time,
    toString(model) AS model,
    sum(input_tokens) AS sent,
    sum(output_tokens) AS received
FROM model_usage_by_minute {_USED}
GROUP BY time, model
ORDER BY time, model""",
        ),
        Panel(
            title="Cost by model",
            says=f"Models without a price are not in it; the table counts their calls. {_NOT_BY_ENVIRONMENT}",
            kind="timeseries",
            bars=True,
            stacked=True,
            unit="currencyUSD",
            sql=f"""\
SELECT $__timeInterval(minute) AS time, toString(model) AS model, toFloat64(sum(ifNull(cost_usd, 0))) AS usd
FROM model_usage_by_minute {_USED}
GROUP BY time, model
ORDER BY time, model""",
        ),
        Panel(
            title="How fast models answer",
            says=f"95th percentile, within 1 %. {_NOT_BY_ENVIRONMENT}",
            kind="timeseries",
            unit="ms",
            steps=((30_000, "red"),),
            sql=f"""\
WITH quantilesDDMerge(0.01, 0.5, 0.9, 0.95, 0.99)(latency_ms) AS latencies
SELECT $__timeInterval(minute) AS time, toString(model) AS model, latencies[3] AS p95
FROM model_minutes {_USED}
GROUP BY time, model
HAVING sum(timed) > 0
ORDER BY time, model""",
        ),
        Panel(
            title="Models",
            says=f"Calls without an answer count as failed. {_NOT_BY_ENVIRONMENT}",
            kind="table",
            width=24,
            columns={
                "failed": Column(unit="percentunit", steps=((0.05, "orange"), (0.2, "red"))),
                "usd": Column(unit="currencyUSD"),
                "without_price": Column(steps=((1, "orange"),)),
                "unknown_usage": Column(steps=((1, "orange"),)),
            },
            sql=f"""\
SELECT
    provider,
    model,
    sum(calls) AS called,
    sum(errors) / sum(calls) AS failed,
    sum(input_tokens) AS sent,
    sum(output_tokens) AS received,
    toFloat64(sum(ifNull(cost_usd, 0))) AS usd,
    sum(unpriced_calls) AS without_price,
    sum(without_usage) AS unknown_usage
FROM model_usage_by_minute {_USED}
GROUP BY provider, model
ORDER BY called DESC, model""",
        ),
    ]
