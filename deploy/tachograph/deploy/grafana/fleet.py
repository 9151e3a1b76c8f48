"""All agents of a tenant: how runs end, what is violated, how tools and models do, what it costs."""

from typing import Final

from tachograph.deploy.grafana.dashboard import Dashboard, Section
from tachograph.deploy.grafana.models import cost_by_model, model_latencies, models, tokens_by_model
from tachograph.deploy.grafana.panel import Column, Panel
from tachograph.deploy.grafana.tools import tool_calls, tool_latencies, tools
from tachograph.deploy.grafana.variables import (
    AGENTS,
    CONSOLE,
    ENVIRONMENT,
    IS_AGENT,
    IS_ENVIRONMENT,
    IS_TENANT,
    NOT_BY_ENVIRONMENT,
    TENANT,
    TO_AGENT,
    TO_RUN,
    TO_TRACE,
)
from tachograph.deploy.grafana.violated import by_kind, by_severity, codes

_ENDED: Final = (
    f"agent_runs WHERE {IS_TENANT} AND {IS_AGENT} AND {IS_ENVIRONMENT}\n"
    "    AND $__timeFilter(occurred_at) AND event_type != 'run_started'"
)
"""Ends of runs, and silences: a run that fell silent and ended after all has both, so runs are counted by id."""
_FOUND: Final = f"WHERE {IS_TENANT} AND {IS_AGENT} AND $__timeFilter(occurred_at)"
_USED: Final = f"WHERE {IS_TENANT} AND {IS_AGENT} AND $__timeFilter(minute)"
_BROKEN: Final = "status IN ('failed', 'aborted', 'SYSTEM_ERROR')"

_OVER_TIME: Final = (tokens_by_model, cost_by_model, model_latencies)


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
            Section("Violations", [by_kind(_FOUND), by_severity(_FOUND), codes(_FOUND)]),
            Section("Tools", [tool_calls(_USED), tool_latencies(_USED), tools(_USED)]),
            Section(
                "Models",
                [tokens_by_model(_USED), cost_by_model(_USED), model_latencies(_USED), models(_USED, width=24)],
            ),
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
            f"FROM violations {_FOUND} AND kind != 'slo'",
        ),
        Panel(
            title="Tool failures",
            says=f"Share of tool calls that failed. {NOT_BY_ENVIRONMENT}",
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
            says=f"By the prices that `tachograph prices apply` loaded. {NOT_BY_ENVIRONMENT}",
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
