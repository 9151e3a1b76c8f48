"""One agent: its runs and versions, its decisions and checks, its tools and context, and one trace span by span."""

from typing import Final

from tachograph.deploy.grafana.dashboard import Dashboard, Section
from tachograph.deploy.grafana.models import tokens_by_model
from tachograph.deploy.grafana.panel import Column, Panel
from tachograph.deploy.grafana.tools import tools
from tachograph.deploy.grafana.variables import (
    AGENT,
    CONSOLE,
    ENVIRONMENT,
    IS_ENVIRONMENT,
    IS_TENANT,
    TENANT,
    TO_RUN,
    TO_TRACE,
    TRACE,
)
from tachograph.deploy.grafana.violated import by_severity, codes

_IS_AGENT: Final = "agent_id = ${agent:sqlstring}"
_OF_AGENT: Final = f"WHERE {IS_TENANT} AND {_IS_AGENT} AND $__timeFilter(occurred_at)"
_USED: Final = f"WHERE {IS_TENANT} AND {_IS_AGENT} AND $__timeFilter(minute)"
_ENDED: Final = f"agent_runs {_OF_AGENT}\n    AND {IS_ENVIRONMENT} AND event_type != 'run_started'"
_BROKEN: Final = "status IN ('failed', 'aborted', 'SYSTEM_ERROR')"
_SPANS: Final = (
    "otel_traces\n"
    "WHERE TraceId = ${trace:sqlstring} AND ResourceAttributes['tachograph.tenant_id'] = ${tenant:sqlstring}"
)


def agent() -> Dashboard:
    """The dashboard of one agent."""
    return Dashboard(
        name="agent",
        title="Tachograph: agent",
        says="Runs, decisions, checks, tools and context of one agent; and one trace.",
        variables=(TENANT, AGENT, ENVIRONMENT, TRACE, CONSOLE),
        sections=(
            Section("Runs", _runs()),
            Section("What it decided, and how that was judged", _judged()),
            Section("Tools and context", _work()),
            Section("One trace", _trace()),
        ),
    )


def _runs() -> list[Panel]:
    return [
        Panel(
            title="Runs by version",
            says="Whether a new version does better or worse.",
            kind="table",
            width=12,
            columns={
                "failed": Column(unit="percentunit", steps=((0.05, "orange"), (0.2, "red"))),
                "not_whole": Column(steps=((1, "red"),)),
                "p50_ms": Column(unit="ms"),
                "p95_ms": Column(unit="ms"),
            },
            sql=f"""\
SELECT
    agent_version,
    environment,
    uniqExactIf(run_id, event_type = 'run_ended') AS runs,
    if(runs = 0, NULL, uniqExactIf(run_id, {_BROKEN}) / runs) AS failed,
    uniqExactIf(run_id, completeness = 'incomplete') AS not_whole,
    quantileIf(0.5)(duration_ms, isNotNull(duration_ms)) AS p50_ms,
    quantileIf(0.95)(duration_ms, isNotNull(duration_ms)) AS p95_ms,
    min(occurred_at) AS first_seen,
    max(occurred_at) AS last_seen
FROM {_ENDED}
GROUP BY agent_version, environment
ORDER BY last_seen DESC""",
        ),
        Panel(
            title="How runs ended",
            says="Runs by the status they ended with.",
            kind="timeseries",
            bars=True,
            stacked=True,
            width=6,
            sql=f"""\
SELECT $__timeInterval(occurred_at) AS time, toString(status) AS status, uniqExact(run_id) AS runs
FROM {_ENDED} AND event_type = 'run_ended'
GROUP BY time, status
ORDER BY time, status""",
        ),
        Panel(
            title="Errors that ended runs",
            says="By class of error.",
            kind="bargauge",
            width=6,
            steps=((1, "orange"), (10, "red")),
            sql=f"""\
SELECT assumeNotNull(error_type) AS error, uniqExact(run_id) AS runs
FROM {_ENDED} AND ifNull(error_type, '') != ''
GROUP BY error
ORDER BY runs DESC, error
LIMIT 20""",
        ),
        Panel(
            title="Latest runs",
            says="A click leads to the run in the web console, or shows its trace below.",
            kind="table",
            width=24,
            height=10,
            columns={
                "run_id": TO_RUN,
                "trace_id": TO_TRACE,
                "duration_ms": Column(unit="ms"),
                "violations": Column(steps=((1, "orange"), (10, "red"))),
            },
            sql=f"""\
SELECT
    run.ended AS ended,
    run.agent_id AS agent_id,
    run.run_id AS run_id,
    run.trace_id AS trace_id,
    run.version AS version,
    run.status AS status,
    run.completeness AS completeness,
    run.duration_ms AS duration_ms,
    run.tokens AS tokens,
    run.tool_calls AS tool_calls,
    found.violations AS violations
FROM
(
    SELECT
        max(occurred_at) AS ended,
        agent_id,
        run_id,
        any(trace_id) AS trace_id,
        argMax(toString(agent_version), (received_at, _offset)) AS version,
        argMax(toString(status), (received_at, _offset)) AS status,
        argMax(toString(completeness), (received_at, _offset)) AS completeness,
        argMax(duration_ms, (received_at, _offset)) AS duration_ms,
        max(ifNull(input_tokens, 0) + ifNull(output_tokens, 0)) AS tokens,
        max(ifNull(tool_calls, 0)) AS tool_calls
    FROM {_ENDED}
    GROUP BY agent_id, run_id
    ORDER BY ended DESC
    LIMIT 100
) AS run
LEFT JOIN
(
    SELECT run_id, uniqExact(violation_id) AS violations
    FROM violations
    {_OF_AGENT} AND kind != 'slo'
    GROUP BY run_id
) AS found ON found.run_id = run.run_id
ORDER BY ended DESC""",
        ),
    ]


def _judged() -> list[Panel]:
    return [
        Panel(
            title="What the stream's checks said",
            says="Share of the judged events that failed a check. Unknown ones count as judged.",
            kind="timeseries",
            unit="percentunit",
            steps=((0.05, "orange"), (0.2, "red")),
            sql=f"""\
SELECT
    $__timeInterval(occurred_at) AS time,
    countIf(alignment_status = 'fail') / count() AS alignment,
    countIf(quality_status = 'fail') / count() AS quality,
    countIf(policy_status = 'fail') / count() AS policy
FROM evaluations {_OF_AGENT} AND NOT startsWith(rules, 'plugin:')
GROUP BY time
ORDER BY time""",
        ),
        by_severity(_OF_AGENT),
        codes(_OF_AGENT),
        Panel(
            title="Decisions",
            says="What kind of choice was made for which reason, and how sure the agent was.",
            kind="table",
            columns={"mean_confidence": Column(unit="percentunit")},
            sql=f"""\
SELECT decision_type, reason_code, uniqExact(decision_id) AS decisions, avg(confidence) AS mean_confidence
FROM agent_decisions {_OF_AGENT}
GROUP BY decision_type, reason_code
ORDER BY decisions DESC, decision_type, reason_code
LIMIT 100""",
        ),
        Panel(
            title="Quality signals",
            says="How often each was seen, and how often it held. Correlated with runs, not a score of them.",
            kind="table",
            sql=f"""\
SELECT signal_type, signal_code, uniqExactIf(signal_id, value) AS holds, uniqExact(signal_id) AS seen
FROM agent_quality_signals {_OF_AGENT}
GROUP BY signal_type, signal_code
ORDER BY seen DESC, signal_type, signal_code
LIMIT 100""",
        ),
        Panel(
            title="Decision records",
            says="Sealed records by key and status. What is blocked is sealed too, with the reason.",
            kind="table",
            sql=f"""\
SELECT decision_key, status, uniqExact(record_id) AS records, max(sealed_at) AS last_sealed
FROM decision_records {_OF_AGENT}
GROUP BY decision_key, status
ORDER BY records DESC, decision_key, status""",
        ),
    ]


def _work() -> list[Panel]:
    return [
        tools(_USED, width=12),
        Panel(
            title="How tools failed",
            says="By tool and class of error.",
            kind="table",
            width=12,
            sql=f"""\
SELECT
    tool_name,
    ifNull(error_type, '(reported as an error)') AS error,
    count() AS calls,
    uniqExact(run_id) AS runs,
    max(occurred_at) AS last_seen
FROM tool_calls {_OF_AGENT} AND leg = 'call' AND (result_is_error OR isNotNull(error_type))
GROUP BY tool_name, error
ORDER BY calls DESC, tool_name, error
LIMIT 100""",
        ),
        tokens_by_model(_USED),
        Panel(
            title="How full the context is",
            says="Tokens that a step's context held over those that it could hold.",
            kind="timeseries",
            unit="percentunit",
            steps=((0.9, "orange"), (1, "red")),
            sql=f"""\
SELECT
    $__timeInterval(occurred_at) AS time,
    quantile(0.5)(tokens_used / token_limit) AS p50,
    max(tokens_used / token_limit) AS fullest
FROM context_manifests {_OF_AGENT} AND token_limit > 0
GROUP BY time
ORDER BY time""",
        ),
        Panel(
            title="What was left out of the context",
            says="Items that were considered and excluded, by reason.",
            kind="bargauge",
            sql=f"""\
SELECT concat(item_type, ': ', reason) AS left_out, count() AS items
FROM context_items {_OF_AGENT} AND NOT is_included
GROUP BY left_out
ORDER BY items DESC, left_out
LIMIT 20""",
        ),
    ]


def _trace() -> list[Panel]:
    return [
        Panel(
            title="Trace",
            says="The trace that is chosen above; a click on a trace id chooses it. Metadata only, no content.",
            kind="traces",
            width=24,
            height=16,
            sql=f"""\
SELECT
    TraceId AS traceID,
    SpanId AS spanID,
    ParentSpanId AS parentSpanID,
    ServiceName AS serviceName,
    SpanName AS operationName,
    toUnixTimestamp64Nano(Timestamp) / 1000000 AS startTime,
    Duration / 1000000 AS duration,
    arrayMap(name -> map('key', name, 'value', SpanAttributes[name]), mapKeys(SpanAttributes)) AS tags,
    arrayMap(name -> map('key', name, 'value', ResourceAttributes[name]), mapKeys(ResourceAttributes)) AS serviceTags,
    if(StatusCode = 'Error', 2, 0) AS statusCode
FROM {_SPANS}
ORDER BY Timestamp
LIMIT 5000""",
        ),
        Panel(
            title="Where its time went",
            says="Spans of the trace by name.",
            kind="table",
            width=24,
            columns={
                "total_ms": Column(unit="ms"),
                "longest_ms": Column(unit="ms"),
                "errors": Column(steps=((1, "red"),)),
            },
            sql=f"""\
SELECT
    SpanName AS span,
    count() AS spans,
    countIf(StatusCode = 'Error') AS errors,
    sum(Duration) / 1000000 AS total_ms,
    max(Duration) / 1000000 AS longest_ms
FROM {_SPANS}
GROUP BY span
ORDER BY total_ms DESC, span
LIMIT 100""",
        ),
    ]
