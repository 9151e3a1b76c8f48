-- Action boundaries and tool calls. Laid out as 0001 says; kept 180 days. Large texts are compressed hard: they are
-- written once and read by few.

CREATE TABLE IF NOT EXISTS {database}.decision_events
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent that emitted the record.',
    run_id String COMMENT 'Run it belongs to; empty if the producer named none.' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace of the run; empty if the producer named none.' CODEC(ZSTD(1)),
    event_id String COMMENT 'Id of the record this row was made from.' CODEC(ZSTD(1)),
    seq Int64 COMMENT 'Place of the record in its run, from 0.' CODEC(Delta, ZSTD(1)),
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'When the broker appended the record.' CODEC(Delta, ZSTD(1)),
    schema_version LowCardinality(String) COMMENT 'Version of the DecisionEvent schema.',
    span_id String COMMENT 'Span of the event.' CODEC(ZSTD(1)),
    parent_span_id Nullable(String) COMMENT 'Span it is nested in.' CODEC(ZSTD(1)),
    step_id Nullable(String) COMMENT 'Step it happened in.' CODEC(ZSTD(1)),
    session_id String COMMENT 'Session of the run.',
    agent_version LowCardinality(String) COMMENT 'Version of the agent.',
    environment LowCardinality(String) COMMENT 'local, ci, staging, prod or unknown.',
    request_id String COMMENT 'Id of the user\'s request.',
    user_request_raw String COMMENT 'The request in its capture mode.' CODEC(ZSTD(3)),
    constraints Array(Tuple(id String, type LowCardinality(String), rule String)) COMMENT 'Explicit constraints on the request.' CODEC(ZSTD(3)),
    channel LowCardinality(String) COMMENT 'Where the request came from.',
    repo Nullable(String) COMMENT 'Repository it is about.',
    branch Nullable(String) COMMENT 'Branch it is about.',
    ticket_id Nullable(String) COMMENT 'Ticket it is about.',
    provider LowCardinality(String) COMMENT 'Who served the model; empty if no model was called.',
    model LowCardinality(String) COMMENT 'Model.',
    capture_mode LowCardinality(String) COMMENT 'full, redacted or hashed; empty if the producer forgot it.',
    prompt_bundle_hash String COMMENT 'SHA-256 of the canonical bundle as sent.' CODEC(ZSTD(1)),
    sent_hash Nullable(String) COMMENT 'The same hash taken at the transport.',
    bundle_artifact_id Nullable(String) COMMENT 'Where the bundle is, if it was too large.',
    messages Array(Tuple(role LowCardinality(String), content String)) COMMENT 'Messages as sent.' CODEC(ZSTD(3)),
    retrieval_enabled Bool COMMENT 'Whether context was retrieved.',
    retrieval_sources Array(String) COMMENT 'Where from.',
    retrieval_snippets Nullable(String) COMMENT 'What, in its capture mode.' CODEC(ZSTD(3)),
    tools Array(Tuple(name LowCardinality(String), description Nullable(String), schema Nullable(String))) COMMENT 'Tools the model was offered.' CODEC(ZSTD(3)),
    transformations Array(Tuple(type LowCardinality(String), summary String)) COMMENT 'Changes made to the prompt before it was sent.' CODEC(ZSTD(3)),
    temperature Nullable(Float64) COMMENT 'Sampling temperature.',
    top_p Nullable(Float64) COMMENT 'Nucleus sampling.',
    max_tokens Nullable(Int64) COMMENT 'Limit on output tokens.',
    completion_id Nullable(String) COMMENT 'Provider\'s id of the completion.',
    output_raw Nullable(String) COMMENT 'Output in its capture mode.' CODEC(ZSTD(3)),
    output_artifact_id Nullable(String) COMMENT 'Where the output is, if it was too large.',
    output_structured Nullable(String) COMMENT 'Structured output as JSON text.' CODEC(ZSTD(3)),
    tool_calls Array(Tuple(tool_call_id String, name LowCardinality(String), arguments String)) COMMENT 'Tool calls the model asked for.' CODEC(ZSTD(3)),
    input_tokens Nullable(Int64) COMMENT 'Tokens sent.',
    output_tokens Nullable(Int64) COMMENT 'Tokens received.',
    latency_ms Nullable(Int64) COMMENT 'How long the model took.',
    action_type LowCardinality(String) COMMENT 'What the agent did.',
    action_summary String COMMENT 'In words.' CODEC(ZSTD(3)),
    artifacts Array(Tuple(type LowCardinality(String), id String, summary String, content Nullable(String), content_ref Nullable(String), hash String, path Nullable(String), lines_added Nullable(Int64), lines_removed Nullable(Int64), exit_code Nullable(Int64))) COMMENT 'What the agent made or ran.' CODEC(ZSTD(3)),
    tool_results Array(Tuple(tool_call_id String, name LowCardinality(String), output Nullable(String), output_artifact_id Nullable(String), is_error Bool, duration_ms Nullable(Int64))) COMMENT 'Results handed to the agent.' CODEC(ZSTD(3)),
    alignment_status LowCardinality(String) COMMENT 'Agent\'s own alignment status; empty if it sent no evaluation.',
    alignment_score Nullable(Float64) COMMENT 'Between 0 and 1.',
    alignment_violations Array(Tuple(id String, severity LowCardinality(String), message String, evidence Nullable(String))) COMMENT 'Violations the agent\'s own checks saw.' CODEC(ZSTD(3)),
    quality_status LowCardinality(String) COMMENT 'Agent\'s own quality status; empty if it sent no evaluation.',
    quality_checks Array(Tuple(id String, status LowCardinality(String), message String)) COMMENT 'Checks behind the agent\'s own quality status.' CODEC(ZSTD(3)),
    policy_status LowCardinality(String) COMMENT 'Agent\'s own policy status; empty if it sent no evaluation.',
    policy_checks Array(Tuple(id String, status LowCardinality(String), message String)) COMMENT 'Checks behind the agent\'s own policy status.' CODEC(ZSTD(3)),
    overrides_event_id Nullable(String) COMMENT 'Event that a human set aside.',
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    content_bytes UInt64 MATERIALIZED
        greatest(
            length(user_request_raw),
            ifNull(length(retrieval_snippets), 0),
            ifNull(length(output_raw), 0),
            ifNull(length(output_structured), 0),
            arrayMax(arrayMap(item -> length(item.content), messages)),
            arrayMax(arrayMap(item -> ifNull(length(item.schema), 0), tools)),
            arrayMax(arrayMap(item -> length(item.arguments), tool_calls)),
            arrayMax(arrayMap(item -> ifNull(length(item.content), 0), artifacts)),
            arrayMax(arrayMap(item -> ifNull(length(item.output), 0), tool_results))
        )
        COMMENT 'Size of the largest single content in the row.',
    INDEX run_id_bloom run_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX event_id_bloom event_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX trace_id_bloom trace_id TYPE bloom_filter(0.01) GRANULARITY 1,
    CONSTRAINT content_is_at_most_64_kb CHECK content_bytes <= 65536,
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Action boundaries: request, prompt bundle, output, action and evaluation.';

CREATE TABLE IF NOT EXISTS {database}.tool_calls
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent that emitted the record.',
    run_id String COMMENT 'Run it belongs to; empty if the producer named none.' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace of the run; empty if the producer named none.' CODEC(ZSTD(1)),
    event_id String COMMENT 'Id of the record this row was made from.' CODEC(ZSTD(1)),
    seq Int64 COMMENT 'Place of the record in its run, from 0.' CODEC(Delta, ZSTD(1)),
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'When the broker appended the record.' CODEC(Delta, ZSTD(1)),
    tool_use_id String COMMENT 'Call.',
    tool_name LowCardinality(String) COMMENT 'Tool.',
    leg LowCardinality(String) COMMENT 'pre, post or result.',
    span_id Nullable(String) COMMENT 'Span of the call.' CODEC(ZSTD(1)),
    step_id Nullable(String) COMMENT 'Step it was made in.' CODEC(ZSTD(1)),
    task_id Nullable(String) COMMENT 'Task that initiated it.',
    parent_tool_use_id Nullable(String) COMMENT 'Call it is nested in.',
    phase LowCardinality(String) COMMENT 'planning, execution, validation, fix, or the agent\'s own word.',
    depth Int64 COMMENT 'How deep it is nested.',
    capture_mode LowCardinality(String) COMMENT 'full, redacted or hashed; empty if the producer forgot it.',
    tool_input Nullable(String) COMMENT 'Input as JSON text in its capture mode.' CODEC(ZSTD(3)),
    input_artifact_id Nullable(String) COMMENT 'Where the input is, if it was too large.',
    output Nullable(String) COMMENT 'Output in its capture mode.' CODEC(ZSTD(3)),
    output_artifact_id Nullable(String) COMMENT 'Where the output is, if it was too large.',
    duration_ms Nullable(Int64) COMMENT 'How long it took.',
    error_type Nullable(String) COMMENT 'Class of the error it raised.',
    error Nullable(String) COMMENT 'Text of the error in its capture mode.' CODEC(ZSTD(3)),
    skipped Bool COMMENT 'A hook skipped it.',
    hooks Array(Tuple(hook LowCardinality(String), stage LowCardinality(String), action LowCardinality(String), reason String, modified Bool, error_type Nullable(String))) COMMENT 'What each hook decided.' CODEC(ZSTD(3)),
    metadata Map(LowCardinality(String), String) COMMENT 'Primitive annotations, as text.' CODEC(ZSTD(3)),
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    metadata_keys Array(LowCardinality(String)) MATERIALIZED
        arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), mapKeys(metadata))
        COMMENT 'Keys of metadata as the block list compares them.',
    content_bytes UInt64 MATERIALIZED
        greatest(
            ifNull(length(tool_input), 0),
            ifNull(length(output), 0),
            ifNull(length(error), 0)
        )
        COMMENT 'Size of the largest single content in the row.',
    INDEX run_id_bloom run_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX event_id_bloom event_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX trace_id_bloom trace_id TYPE bloom_filter(0.01) GRANULARITY 1,
    CONSTRAINT metadata_has_no_blocked_key CHECK NOT hasAny(
        metadata_keys,
        [
            'chain_of_thought',
            'chainofthought',
            'content',
            'explanation',
            'input',
            'message',
            'output',
            'prompt',
            'rationale',
            'reasoning',
            'response',
            'text',
            'thought'
        ]
    ),
    CONSTRAINT content_is_at_most_64_kb CHECK content_bytes <= 65536,
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, tool_use_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Tool calls, with who called whom.';
