-- Runs, steps, events and tool calls as spans, one view each, and otel_traces on top of them.
--
-- The views say what a span is: ids, parent, name, times, status. What a span tells about itself is a map from the column
-- it comes from (`table.column`) to its value as text. The names that others know these values by are not written here
-- but in one table (docs/semconv.md); otel_traces has those of one version of the conventions.
--
-- One view for each kind, so that a reader of one run or of the latest rows touches these rows and no others: filters on
-- tenant_id and run_id reach the tables. A run has no span id of its own, so it gets one from its run id. A call is told
-- by its step, or by the call it is nested in; until their rows have landed it hangs on its run and `parent_missing`.

CREATE OR REPLACE VIEW {database}.run_spans AS
SELECT
    run.tenant_id AS tenant_id,
    run.run_id AS run_id,
    run.run_id AS source_id,
    toString(run.agent_id) AS agent_id,
    toString(run.agent_version) AS agent_version,
    toString(run.environment) AS environment,
    run.trace_id AS trace_id,
    lower(leftPad(hex(sipHash64(run.run_id)), 16, '0')) AS span_id,
    caller.span_id AS parent_span_id,
    concat('invoke_agent ', run.agent_id) AS span_name,
    'Server' AS kind,
    ifNull(run.started_at, run.first_seen_at) AS began_at,
    ifNull(run.duration_ms, dateDiff('millisecond', ifNull(run.started_at, run.first_seen_at), run.last_seen_at)) AS duration_ms,
    multiIf(run.status = 'succeeded', 'Ok', run.status IN ('failed', 'aborted', 'SYSTEM_ERROR'), 'Error', 'Unset') AS status_code,
    ifNull(run.error_type, '') AS status_message,
    map(
        'run_spans.operation', 'invoke_agent',
        'agent_runs.agent_id', toString(run.agent_id),
        'agent_runs.session_id', run.session_id,
        'agent_runs.input_tokens', ifNull(toString(run.input_tokens), ''),
        'agent_runs.output_tokens', ifNull(toString(run.output_tokens), ''),
        'agent_runs.error_type', ifNull(run.error_type, ''),
        'agent_runs.run_id', run.run_id,
        'agent_runs.parent_run_id', ifNull(run.parent_run_id, ''),
        'agent_runs.status', toString(run.status),
        'agent_runs.completeness', toString(run.completeness)
    ) AS attributes
FROM {database}.runs AS run
LEFT JOIN
(
    -- A run that joined a trace of somebody else's hangs on the span that called it.
    SELECT tenant_id, run_id, any(metadata['parent_span_id']) AS span_id
    FROM {database}.agent_runs
    WHERE metadata['parent_span_id'] != ''
    GROUP BY tenant_id, run_id
) AS caller ON caller.tenant_id = run.tenant_id AND caller.run_id = run.run_id
COMMENT 'Runs as spans, the roots of their trees. No content.';

CREATE OR REPLACE VIEW {database}.step_spans AS
SELECT
    step.tenant_id AS tenant_id,
    step.run_id AS run_id,
    step.step_id AS source_id,
    toString(step.agent_id) AS agent_id,
    '' AS agent_version,
    '' AS environment,
    step.trace_id AS trace_id,
    step.span_id AS span_id,
    ifNull(step.parent_span_id, lower(leftPad(hex(sipHash64(step.run_id)), 16, '0'))) AS parent_span_id,
    concat(step.step_type, ' ', step.name) AS span_name,
    'Internal' AS kind,
    step.first_seen_at AS began_at,
    ifNull(step.duration_ms, dateDiff('millisecond', step.first_seen_at, step.last_seen_at)) AS duration_ms,
    multiIf(step.status = 'succeeded', 'Ok', step.status IN ('failed', 'aborted', 'SYSTEM_ERROR'), 'Error', 'Unset') AS status_code,
    ifNull(step.error_type, '') AS status_message,
    map(
        'agent_steps.run_id', step.run_id,
        'agent_steps.step_id', step.step_id,
        'agent_steps.step_type', toString(step.step_type),
        'agent_steps.name', step.name,
        'agent_steps.status', toString(step.status),
        'agent_steps.error_type', ifNull(step.error_type, '')
    ) AS attributes
FROM {database}.steps AS step
COMMENT 'Steps as spans. No content.';

CREATE OR REPLACE VIEW {database}.event_spans AS
SELECT
    event.tenant_id AS tenant_id,
    event.run_id AS run_id,
    event.event_id AS source_id,
    toString(event.agent_id) AS agent_id,
    toString(event.agent_version) AS agent_version,
    toString(event.environment) AS environment,
    event.trace_id AS trace_id,
    event.span_id AS span_id,
    ifNull(event.parent_span_id, lower(leftPad(hex(sipHash64(event.run_id)), 16, '0'))) AS parent_span_id,
    if(event.provider = '', concat('action ', event.action_type), concat('chat ', event.model)) AS span_name,
    if(event.provider = '', 'Internal', 'Client') AS kind,
    -- An event is recorded when its model has answered, so its span began one latency earlier. Wild clocks and latencies
    -- are cut to what can be subtracted.
    fromUnixTimestamp64Micro(
        least(greatest(toUnixTimestamp64Micro(event.occurred_at), -2208988800000000), 9223372036000000)
            - least(greatest(ifNull(event.latency_ms, 0), 0), 86400000) * 1000,
        'UTC'
    ) AS began_at,
    event.latency_ms AS duration_ms,
    if(
        event.provider != '' AND isNull(event.completion_id) AND isNull(event.output_raw)
            AND isNull(event.output_artifact_id) AND isNull(event.output_structured) AND empty(event.tool_calls),
        'Error',
        'Unset'
    ) AS status_code,
    '' AS status_message,
    map(
        'event_spans.operation', if(event.provider = '', '', 'chat'),
        'decision_events.provider', toString(event.provider),
        'decision_events.model', toString(event.model),
        'decision_events.completion_id', ifNull(event.completion_id, ''),
        'decision_events.temperature', ifNull(toString(event.temperature), ''),
        'decision_events.top_p', ifNull(toString(event.top_p), ''),
        'decision_events.max_tokens', ifNull(toString(event.max_tokens), ''),
        'decision_events.input_tokens', ifNull(toString(event.input_tokens), ''),
        'decision_events.output_tokens', ifNull(toString(event.output_tokens), ''),
        'decision_events.agent_id', toString(event.agent_id),
        'decision_events.session_id', event.session_id,
        'decision_events.run_id', event.run_id,
        'decision_events.step_id', ifNull(event.step_id, ''),
        'decision_events.event_id', event.event_id,
        'decision_events.action_type', toString(event.action_type),
        'decision_events.capture_mode', toString(event.capture_mode),
        'decision_events.prompt_bundle_hash', event.prompt_bundle_hash
    ) AS attributes,
    event.occurred_at AS occurred_at,
    event._partition AS _partition,
    event._offset AS _offset,
    event._ingested_at AS _ingested_at
FROM {database}.decision_events AS event
COMMENT 'Decision events as spans: calls of models, and actions without one. No content.';

CREATE OR REPLACE VIEW {database}.call_spans AS
SELECT
    call.tenant_id AS tenant_id,
    call.run_id AS run_id,
    call.tool_use_id AS source_id,
    toString(call.agent_id) AS agent_id,
    '' AS agent_version,
    '' AS environment,
    call.trace_id AS trace_id,
    assumeNotNull(call.span_id) AS span_id,
    multiIf(
        caller.span_id != '', caller.span_id,
        step.span_id != '', step.span_id,
        lower(leftPad(hex(sipHash64(call.run_id)), 16, '0'))
    ) AS parent_span_id,
    caller.span_id = '' AND (ifNull(call.parent_tool_use_id, '') != '' OR (ifNull(call.step_id, '') != '' AND step.span_id = '')) AS parent_missing,
    concat('execute_tool ', call.tool_name) AS span_name,
    'Internal' AS kind,
    ifNull(call.started_at, call.occurred_at) AS began_at,
    call.duration_ms AS duration_ms,
    if(call.result_is_error OR isNotNull(call.error_type), 'Error', 'Unset') AS status_code,
    ifNull(call.error_type, '') AS status_message,
    map(
        'call_spans.operation', 'execute_tool',
        'tool_calls.tool_name', toString(call.tool_name),
        'tool_calls.tool_use_id', call.tool_use_id,
        'tool_calls.agent_id', toString(call.agent_id),
        'tool_calls.error_type', ifNull(call.error_type, ''),
        'tool_calls.run_id', call.run_id,
        'tool_calls.step_id', ifNull(call.step_id, ''),
        'tool_calls.phase', toString(call.phase),
        'tool_calls.capture_mode', toString(call.capture_mode),
        'tool_calls.hook_action', toString(call.hook_action),
        'tool_calls.closed_by', toString(call.closed_by)
    ) AS attributes,
    call.occurred_at AS occurred_at,
    call._partition AS _partition,
    call._offset AS _offset,
    call._ingested_at AS _ingested_at
FROM {database}.tool_calls AS call
LEFT ANY JOIN
(
    SELECT tenant_id, trace_id, run_id, step_id, span_id
    FROM {database}.agent_steps
    WHERE span_id != ''
) AS step ON step.tenant_id = call.tenant_id AND step.trace_id = call.trace_id AND step.run_id = call.run_id AND step.step_id = ifNull(call.step_id, '')
LEFT ANY JOIN
(
    SELECT tenant_id, trace_id, run_id, tool_use_id, assumeNotNull(span_id) AS span_id
    FROM {database}.tool_calls
    WHERE isNotNull(span_id) AND leg = 'call'
) AS caller ON caller.tenant_id = call.tenant_id AND caller.trace_id = call.trace_id AND caller.run_id = call.run_id AND caller.tool_use_id = ifNull(call.parent_tool_use_id, '')
WHERE call.leg = 'call' AND isNotNull(call.span_id)
COMMENT 'Tool calls as spans. No content.';

CREATE OR REPLACE VIEW {database}.otel_traces AS
SELECT
    -- Nanoseconds reach from 1900 to 2262; a wilder clock is shown at the edge.
    fromUnixTimestamp64Nano(least(greatest(toUnixTimestamp64Micro(began_at), -2208988800000000), 9223372036000000) * 1000, 'UTC') AS Timestamp,
    trace_id AS TraceId,
    span_id AS SpanId,
    parent_span_id AS ParentSpanId,
    '' AS TraceState,
    CAST(span_name, 'LowCardinality(String)') AS SpanName,
    CAST(kind, 'LowCardinality(String)') AS SpanKind,
    CAST(agent_id, 'LowCardinality(String)') AS ServiceName,
    CAST(
        mapFilter(
            (name, value) -> value != '',
            map(
                'service.name', agent_id,
                'service.version', agent_version,
                'deployment.environment.name', environment,
                'tachograph.tenant_id', toString(tenant_id)
            )
        ),
        'Map(LowCardinality(String), String)'
    ) AS ResourceAttributes,
    'tachograph' AS ScopeName,
    '' AS ScopeVersion,
    -- Names of the semantic conventions 1.41.1.
    CAST(
        mapApply(
            (name, value) -> (
                transform(
                    name,
                    [
                        'run_spans.operation', 'agent_runs.agent_id', 'agent_runs.session_id', 'agent_runs.input_tokens',
                        'agent_runs.output_tokens', 'agent_runs.error_type', 'agent_runs.run_id', 'agent_runs.parent_run_id',
                        'agent_runs.status', 'agent_runs.completeness', 'agent_steps.run_id', 'agent_steps.step_id',
                        'agent_steps.step_type', 'agent_steps.name', 'agent_steps.status', 'agent_steps.error_type',
                        'event_spans.operation', 'decision_events.provider', 'decision_events.model',
                        'decision_events.completion_id', 'decision_events.temperature', 'decision_events.top_p',
                        'decision_events.max_tokens', 'decision_events.input_tokens', 'decision_events.output_tokens',
                        'decision_events.agent_id', 'decision_events.session_id', 'decision_events.run_id',
                        'decision_events.step_id', 'decision_events.event_id', 'decision_events.action_type',
                        'decision_events.capture_mode', 'decision_events.prompt_bundle_hash', 'call_spans.operation',
                        'tool_calls.tool_name', 'tool_calls.tool_use_id', 'tool_calls.agent_id', 'tool_calls.error_type',
                        'tool_calls.run_id', 'tool_calls.step_id', 'tool_calls.phase', 'tool_calls.capture_mode',
                        'tool_calls.hook_action', 'tool_calls.closed_by'
                    ],
                    [
                        'gen_ai.operation.name', 'gen_ai.agent.id', 'gen_ai.conversation.id', 'gen_ai.usage.input_tokens',
                        'gen_ai.usage.output_tokens', 'error.type', 'tachograph.run_id', 'tachograph.parent_run_id',
                        'tachograph.status', 'tachograph.completeness', 'tachograph.run_id', 'tachograph.step_id',
                        'tachograph.step_type', 'tachograph.step_name', 'tachograph.status', 'error.type', 'gen_ai.operation.name',
                        'gen_ai.provider.name', 'gen_ai.request.model', 'gen_ai.response.id', 'gen_ai.request.temperature',
                        'gen_ai.request.top_p', 'gen_ai.request.max_tokens', 'gen_ai.usage.input_tokens',
                        'gen_ai.usage.output_tokens', 'gen_ai.agent.id', 'gen_ai.conversation.id', 'tachograph.run_id',
                        'tachograph.step_id', 'tachograph.event_id', 'tachograph.action_type', 'tachograph.capture_mode',
                        'tachograph.prompt_bundle_hash', 'gen_ai.operation.name', 'gen_ai.tool.name', 'gen_ai.tool.call.id',
                        'gen_ai.agent.id', 'error.type', 'tachograph.run_id', 'tachograph.step_id', 'tachograph.phase',
                        'tachograph.capture_mode', 'tachograph.hook_action', 'tachograph.closed_by'
                    ],
                    name
                ),
                value
            ),
            mapFilter((name, value) -> value != '', attributes)
        ),
        'Map(LowCardinality(String), String)'
    ) AS SpanAttributes,
    toUInt64(greatest(ifNull(span.duration_ms, 0), 0)) * 1000000 AS Duration,
    CAST(status_code, 'LowCardinality(String)') AS StatusCode,
    status_message AS StatusMessage,
    arrayMap(event -> fromUnixTimestamp64Nano(least(greatest(toUnixTimestamp64Micro(event.1), -2208988800000000), 9223372036000000) * 1000, 'UTC'), events) AS `Events.Timestamp`,
    CAST(arrayMap(event -> event.2, events), 'Array(LowCardinality(String))') AS `Events.Name`,
    CAST(arrayMap(event -> event.3, events), 'Array(Map(LowCardinality(String), String))') AS `Events.Attributes`,
    CAST([], 'Array(String)') AS `Links.TraceId`,
    CAST([], 'Array(String)') AS `Links.SpanId`,
    CAST([], 'Array(String)') AS `Links.TraceState`,
    CAST([], 'Array(Map(LowCardinality(String), String))') AS `Links.Attributes`
FROM
(
    SELECT
        run.tenant_id AS tenant_id, run.agent_id AS agent_id, run.agent_version AS agent_version,
        run.environment AS environment, run.trace_id AS trace_id, run.span_id AS span_id,
        run.parent_span_id AS parent_span_id, run.span_name AS span_name, run.kind AS kind, run.began_at AS began_at,
        run.duration_ms AS duration_ms, run.status_code AS status_code, run.status_message AS status_message,
        run.attributes AS attributes, found.events AS events
    FROM {database}.run_spans AS run
    LEFT JOIN
    (
        SELECT
            tenant_id,
            trace_id,
            run_id,
            groupArray((
                violation.occurred_at,
                toString(violation.code),
                map('tachograph.severity', toString(violation.severity), 'tachograph.kind', toString(violation.kind), 'tachograph.violation_id', violation.violation_id)
            )) AS events
        FROM {database}.violations AS violation
        GROUP BY tenant_id, trace_id, run_id
    ) AS found ON found.tenant_id = run.tenant_id AND found.trace_id = run.trace_id AND found.run_id = run.run_id
    UNION ALL
    SELECT
        tenant_id, agent_id, agent_version, environment, trace_id, span_id, parent_span_id, span_name, kind, began_at,
        duration_ms, status_code, status_message, attributes, []
    FROM {database}.step_spans
    UNION ALL
    SELECT
        tenant_id, agent_id, agent_version, environment, trace_id, span_id, parent_span_id, span_name, kind, began_at,
        duration_ms, status_code, status_message, attributes, []
    FROM {database}.event_spans
    UNION ALL
    SELECT
        tenant_id, agent_id, agent_version, environment, trace_id, span_id, parent_span_id, span_name, kind, began_at,
        duration_ms, status_code, status_message, attributes, []
    FROM {database}.call_spans
) AS span
COMMENT 'Runs, steps, events and tool calls as spans, in the columns of OpenTelemetry\'s ClickHouse exporter. No content.';
