-- Views for the questions that people ask of decision records, and spans in the columns of OpenTelemetry's ClickHouse
-- exporter. No FINAL is needed: where a row could be there twice, the view groups by its id.

CREATE OR REPLACE VIEW {database}.decisions AS
SELECT
    record.tenant_id AS tenant_id,
    record.record_id AS record_id,
    record.trace_id AS trace_id,
    record.run_id AS run_id,
    record.agent_id AS agent_id,
    record.decision_key AS decision_key,
    record.decision_version AS decision_version,
    record.status AS status,
    record.occurred_at AS decided_at,
    record.subject_ids AS subject_ids,
    record.outputs AS outputs,
    -- Exact decimals, whether an amount was written as a number or as text.
    CAST(
        arrayMap(
            pair -> (pair.1, assumeNotNull(toDecimal128OrNull(trimBoth(replaceAll(pair.2, '"', '')), 6))),
            arrayFilter(
                pair -> isNotNull(toDecimal128OrNull(trimBoth(replaceAll(pair.2, '"', '')), 6)),
                JSONExtractKeysAndValuesRaw(record.outputs)
            )
        ),
        'Map(String, Decimal(38, 6))'
    ) AS amounts,
    record.approvals AS approvals,
    arrayMap(approval -> approval.approver, record.approvals) AS approvers,
    arrayDistinct(arrayConcat(
        arrayMap(approval -> toString(approval.approval_mode_effective), record.approvals),
        arrayMap(call -> toString(call.approval_mode_effective), record.tool_lineage)
    )) AS approval_modes,
    record.evidence_refs AS evidence_refs,
    record.policy_decisions AS policy_decisions,
    map(
        'pack_version', toString(record.pack_version),
        'policy_versions', arrayStringConcat(record.policy_versions, ', '),
        'decision_spec', toString(record.decision_spec),
        'kg_snapshot', record.kg_snapshot,
        'model_profile', toString(record.model_profile),
        'evaluator_suite', toString(record.evaluator_suite)
    ) AS lineage,
    record.supersedes AS supersedes,
    record.incident_id AS incident_id,
    record.retention AS retention,
    record.log_id AS log_id,
    record.log_seq AS log_seq,
    record.record_hash AS record_hash
FROM {database}.decision_records AS record
COMMENT 'Sealed decisions, one row each, with their amounts, approvers, evidence and lineage.';

CREATE OR REPLACE VIEW {database}.policy_rejections AS
SELECT
    record.tenant_id AS tenant_id,
    record.record_id AS record_id,
    record.trace_id AS trace_id,
    record.decision_key AS decision_key,
    record.occurred_at AS decided_at,
    policy.policy_decision_id AS policy_decision_id,
    policy.bundle_id AS bundle_id,
    policy.bundle_version AS bundle_version,
    policy.rule_ids AS rule_ids,
    policy.verdict AS verdict
FROM {database}.decision_records AS record
ARRAY JOIN policy_decisions AS policy
WHERE record.status = 'REJECTED'
COMMENT 'Policy decisions of rejected records, one row for each of both.';

CREATE OR REPLACE VIEW {database}.replay_health AS
SELECT
    tenant_id,
    if(replay.record_id = '', replay.run_id, replay.record_id) AS replayed_id,
    argMax(replay.record_id, replay.replayed_at) AS record_id,
    argMax(replay.run_id, replay.replayed_at) AS run_id,
    argMax(replay.trace_id, replay.replayed_at) AS trace_id,
    argMax(replay.decision_key, replay.replayed_at) AS decision_key,
    argMax(replay.pack_version, replay.replayed_at) AS pack_version,
    argMax(replay.outcome, replay.replayed_at) AS last_status,
    max(replay.replayed_at) AS last_replayed_at,
    uniqExact(replay.replay_id) AS replays
FROM {database}.replays AS replay
GROUP BY tenant_id, replayed_id
COMMENT 'How the latest replay of each record ended; of the run, where it has no record.';

CREATE OR REPLACE VIEW {database}.otel_traces AS
SELECT
    -- Nanoseconds reach from 1900 to 2262; a wilder clock is shown at the edge.
    fromUnixTimestamp64Nano(least(greatest(toUnixTimestamp64Micro(started_at), -2208988800000000), 9223372036000000) * 1000, 'UTC') AS Timestamp,
    trace_id AS TraceId,
    span_id AS SpanId,
    parent_span_id AS ParentSpanId,
    '' AS TraceState,
    CAST(span_name, 'LowCardinality(String)') AS SpanName,
    CAST(kind, 'LowCardinality(String)') AS SpanKind,
    CAST(agent_id, 'LowCardinality(String)') AS ServiceName,
    CAST(mapUpdate(map('service.name', toString(agent_id), 'tachograph.tenant_id', toString(tenant_id)), resource), 'Map(LowCardinality(String), String)') AS ResourceAttributes,
    'tachograph' AS ScopeName,
    '' AS ScopeVersion,
    CAST(mapFilter((name, value) -> value != '', attributes), 'Map(LowCardinality(String), String)') AS SpanAttributes,
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
    -- A run is the root span. It has no span id of its own, so it gets one from its run id.
    SELECT
        run.tenant_id AS tenant_id,
        toString(run.agent_id) AS agent_id,
        run.trace_id AS trace_id,
        lower(leftPad(hex(sipHash64(run.run_id)), 16, '0')) AS span_id,
        '' AS parent_span_id,
        concat('invoke_agent ', run.agent_id) AS span_name,
        'Server' AS kind,
        ifNull(run.started_at, run.first_seen_at) AS started_at,
        ifNull(run.duration_ms, dateDiff('millisecond', ifNull(run.started_at, run.first_seen_at), run.last_seen_at)) AS duration_ms,
        multiIf(run.status = 'succeeded', 'Ok', run.status IN ('failed', 'aborted', 'SYSTEM_ERROR'), 'Error', 'Unset') AS status_code,
        ifNull(run.error_type, '') AS status_message,
        map('service.version', toString(run.agent_version), 'deployment.environment.name', toString(run.environment)) AS resource,
        map(
            'gen_ai.operation.name', 'invoke_agent',
            'gen_ai.agent.id', toString(run.agent_id),
            'gen_ai.conversation.id', run.session_id,
            'gen_ai.usage.input_tokens', ifNull(toString(run.input_tokens), ''),
            'gen_ai.usage.output_tokens', ifNull(toString(run.output_tokens), ''),
            'tachograph.run_id', run.run_id,
            'tachograph.status', toString(run.status),
            'tachograph.completeness', toString(run.completeness)
        ) AS attributes,
        found.events AS events
    FROM {database}.runs AS run
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
        step.tenant_id,
        toString(step.agent_id),
        step.trace_id,
        step.span_id,
        ifNull(step.parent_span_id, lower(leftPad(hex(sipHash64(step.run_id)), 16, '0'))),
        concat(step.step_type, ' ', step.name),
        'Internal',
        step.first_seen_at,
        ifNull(step.duration_ms, dateDiff('millisecond', step.first_seen_at, step.last_seen_at)),
        multiIf(step.status = 'succeeded', 'Ok', step.status IN ('failed', 'aborted', 'SYSTEM_ERROR'), 'Error', 'Unset'),
        ifNull(step.error_type, ''),
        map(),
        map('tachograph.run_id', step.run_id, 'tachograph.step_id', step.step_id, 'tachograph.step_type', toString(step.step_type)),
        []
    FROM {database}.steps AS step
    UNION ALL
    -- An event is recorded when its model has answered, so its span began one latency earlier.
    SELECT
        event.tenant_id,
        toString(event.agent_id),
        event.trace_id,
        event.span_id,
        ifNull(event.parent_span_id, lower(leftPad(hex(sipHash64(event.run_id)), 16, '0'))),
        if(event.provider = '', concat('action ', event.action_type), concat('chat ', event.model)),
        if(event.provider = '', 'Internal', 'Client'),
        subtractMilliseconds(event.occurred_at, greatest(ifNull(event.latency_ms, 0), 0)),
        event.latency_ms,
        if(
            event.provider != '' AND isNull(event.completion_id) AND isNull(event.output_raw)
                AND isNull(event.output_artifact_id) AND isNull(event.output_structured) AND empty(event.tool_calls),
            'Error',
            'Unset'
        ),
        '',
        map('service.version', toString(event.agent_version), 'deployment.environment.name', toString(event.environment)),
        map(
            'gen_ai.operation.name', if(event.provider = '', '', 'chat'),
            'gen_ai.provider.name', toString(event.provider),
            'gen_ai.request.model', toString(event.model),
            'gen_ai.response.id', ifNull(event.completion_id, ''),
            'gen_ai.usage.input_tokens', ifNull(toString(event.input_tokens), ''),
            'gen_ai.usage.output_tokens', ifNull(toString(event.output_tokens), ''),
            'tachograph.run_id', event.run_id,
            'tachograph.step_id', ifNull(event.step_id, ''),
            'tachograph.event_id', event.event_id,
            'tachograph.action_type', toString(event.action_type),
            'tachograph.prompt_bundle_hash', event.prompt_bundle_hash
        ),
        []
    FROM {database}.decision_events AS event
    UNION ALL
    SELECT
        call.tenant_id,
        toString(call.agent_id),
        call.trace_id,
        assumeNotNull(call.span_id),
        multiIf(
            caller.span_id != '', caller.span_id,
            step.span_id != '', step.span_id,
            lower(leftPad(hex(sipHash64(call.run_id)), 16, '0'))
        ),
        concat('execute_tool ', call.tool_name),
        'Internal',
        ifNull(call.started_at, call.occurred_at),
        call.duration_ms,
        if(call.result_is_error OR isNotNull(call.error_type), 'Error', 'Unset'),
        ifNull(call.error_type, ''),
        map(),
        map(
            'gen_ai.operation.name', 'execute_tool',
            'gen_ai.tool.name', toString(call.tool_name),
            'gen_ai.tool.call.id', call.tool_use_id,
            'tachograph.run_id', call.run_id,
            'tachograph.step_id', ifNull(call.step_id, ''),
            'tachograph.phase', toString(call.phase),
            'tachograph.hook_action', toString(call.hook_action),
            'tachograph.closed_by', toString(call.closed_by)
        ),
        []
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
) AS span
COMMENT 'Runs, steps, events and tool calls as spans, in the columns of OpenTelemetry\'s ClickHouse exporter. No content.';

CREATE OR REPLACE VIEW {database}.otel_traces_trace_id_ts AS
SELECT
    trace_id AS TraceId,
    toDateTime(min(occurred_at), 'UTC') AS Start,
    toDateTime(max(occurred_at), 'UTC') AS End
FROM {database}.agent_runs
GROUP BY trace_id
COMMENT 'When each trace began and ended, for dashboards that look it up first.';
