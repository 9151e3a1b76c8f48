-- Every table and view on a cluster, made by `python -m tachograph.sinks.clickhouse.cluster_file` from the
-- migrations of a single server; a test compares the two. `tachograph migrate --cluster NAME` runs it.
-- docs/scaling.md explains it.

CREATE DATABASE IF NOT EXISTS `tachograph` ON CLUSTER `tachograph`;

-- ledger

CREATE TABLE IF NOT EXISTS `tachograph`.schema_migrations ON CLUSTER `tachograph`
(
    version UInt32 COMMENT 'Number of the migration.',
    name String COMMENT 'Its name.',
    checksum String COMMENT 'SHA-256 of its file.',
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When its last statement had run.'
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/all/tachograph/schema_migrations', '{shard}-{replica}')
ORDER BY version
COMMENT 'Migrations that were applied.';

-- runs

CREATE TABLE IF NOT EXISTS `tachograph`.agent_runs_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent that emitted the record.',
    run_id String COMMENT 'Run it belongs to; empty if the producer named none.' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace of the run; empty if the producer named none.' CODEC(ZSTD(1)),
    event_id String COMMENT 'Id of the record this row was made from.' CODEC(ZSTD(1)),
    seq Int64 COMMENT 'Place of the record in its run, from 0.' CODEC(Delta, ZSTD(1)),
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'When the broker appended the record.' CODEC(Delta, ZSTD(1)),
    event_type LowCardinality(String) COMMENT 'run_started or run_ended.',
    session_id String COMMENT 'Session of the run.',
    agent_version LowCardinality(String) COMMENT 'Version of the agent.',
    environment LowCardinality(String) COMMENT 'local, ci, staging, prod or unknown.',
    capture_mode LowCardinality(String) COMMENT 'Default capture mode of the run.',
    status LowCardinality(String) COMMENT 'running, succeeded, failed, aborted or SYSTEM_ERROR.',
    request_id String COMMENT 'Id of the user\'s request.',
    user_request_raw String COMMENT 'The request in its capture mode.' CODEC(ZSTD(3)),
    constraints Array(Tuple(id String, type LowCardinality(String), rule String)) COMMENT 'Explicit constraints on the request.' CODEC(ZSTD(3)),
    channel LowCardinality(String) COMMENT 'Where the request came from.',
    repo Nullable(String) COMMENT 'Repository it is about.',
    branch Nullable(String) COMMENT 'Branch it is about.',
    ticket_id Nullable(String) COMMENT 'Ticket it is about.',
    parent_run_id Nullable(String) COMMENT 'Run that spawned this one.',
    sdk LowCardinality(String) COMMENT 'What emitted the record.',
    started_at Nullable(DateTime64(6, 'UTC')) COMMENT 'When the run started.',
    ended_at Nullable(DateTime64(6, 'UTC')) COMMENT 'When the run ended.',
    duration_ms Nullable(Int64) COMMENT 'How long it took.',
    emitted Nullable(Int64) COMMENT 'Records the producer counted, the last one included.',
    received Int64 COMMENT 'Records the worker has seen of the run so far.',
    dropped Nullable(Int64) COMMENT 'Records the producer says it lost.',
    input_tokens Nullable(Int64) COMMENT 'Tokens sent to models.',
    output_tokens Nullable(Int64) COMMENT 'Tokens received from models.',
    error_type Nullable(String) COMMENT 'Class of the error that ended it.',
    completeness LowCardinality(String) COMMENT 'complete, incomplete, or open while the run goes on.',
    missing Array(String) COMMENT 'What is missing, in words.' CODEC(ZSTD(3)),
    metadata Map(LowCardinality(String), String) COMMENT 'Primitive annotations, as text.' CODEC(ZSTD(3)),
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    metadata_keys Array(LowCardinality(String)) MATERIALIZED
        arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), mapKeys(metadata))
        COMMENT 'Keys of metadata as the block list compares them.',
    content_bytes UInt64 MATERIALIZED
        length(user_request_raw)
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/agent_runs_local', '{replica}')
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Changes of a run\'s state, one row each. The view runs has one row per run.';

CREATE TABLE IF NOT EXISTS `tachograph`.agent_steps_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent that emitted the record.',
    run_id String COMMENT 'Run it belongs to; empty if the producer named none.' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace of the run; empty if the producer named none.' CODEC(ZSTD(1)),
    event_id String COMMENT 'Id of the record this row was made from.' CODEC(ZSTD(1)),
    seq Int64 COMMENT 'Place of the record in its run, from 0.' CODEC(Delta, ZSTD(1)),
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'When the broker appended the record.' CODEC(Delta, ZSTD(1)),
    event_type LowCardinality(String) COMMENT 'step_started or step_ended.',
    step_id String COMMENT 'Step.' CODEC(ZSTD(1)),
    parent_step_id Nullable(String) COMMENT 'Step it is nested in.',
    span_id String COMMENT 'Span of the step.' CODEC(ZSTD(1)),
    parent_span_id Nullable(String) COMMENT 'Span it is nested in.' CODEC(ZSTD(1)),
    step_type LowCardinality(String) COMMENT 'plan, tool, retrieve, validate, or the agent\'s own word.',
    name String COMMENT 'Name of the step.',
    status LowCardinality(String) COMMENT 'How it ended.',
    duration_ms Nullable(Int64) COMMENT 'How long it took.',
    error_type Nullable(String) COMMENT 'Class of the error that ended it.',
    metadata Map(LowCardinality(String), String) COMMENT 'Primitive annotations, as text.' CODEC(ZSTD(3)),
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    metadata_keys Array(LowCardinality(String)) MATERIALIZED
        arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), mapKeys(metadata))
        COMMENT 'Keys of metadata as the block list compares them.',
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
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/agent_steps_local', '{replica}')
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Starts and ends of steps, one row each. The view steps has one row per step.';

CREATE TABLE IF NOT EXISTS `tachograph`.agent_failures_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent that emitted the record.',
    run_id String COMMENT 'Run it belongs to; empty if the producer named none.' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace of the run; empty if the producer named none.' CODEC(ZSTD(1)),
    event_id String COMMENT 'Id of the record this row was made from.' CODEC(ZSTD(1)),
    seq Int64 COMMENT 'Place of the record in its run, from 0.' CODEC(Delta, ZSTD(1)),
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'When the broker appended the record.' CODEC(Delta, ZSTD(1)),
    failure_id String COMMENT 'Failure.',
    kind LowCardinality(String) COMMENT 'agent_failure or events_dropped.',
    step_id Nullable(String) COMMENT 'Step it happened in.' CODEC(ZSTD(1)),
    span_id Nullable(String) COMMENT 'Span it happened in.' CODEC(ZSTD(1)),
    error_type LowCardinality(String) COMMENT 'Class of the error.',
    message String COMMENT 'Its text, in the run\'s capture mode.' CODEC(ZSTD(3)),
    trigger LowCardinality(String) COMMENT 'Fault trigger, empty if it was none.',
    tool_use_id Nullable(String) COMMENT 'Tool call that failed.',
    snapshot_artifact_ids Array(String) COMMENT 'Stored snapshots of the step.',
    capture_ids Array(String) COMMENT 'Encrypted captures of the step.',
    missing_pointer Nullable(String) COMMENT 'What could not be resolved or stored.',
    dropped Int64 COMMENT 'Records lost.',
    drop_reason LowCardinality(String) COMMENT 'Why they were lost.',
    dropped_types Array(String) COMMENT 'Types among them.',
    metadata Map(LowCardinality(String), String) COMMENT 'Primitive annotations, as text.' CODEC(ZSTD(3)),
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    metadata_keys Array(LowCardinality(String)) MATERIALIZED
        arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), mapKeys(metadata))
        COMMENT 'Keys of metadata as the block list compares them.',
    content_bytes UInt64 MATERIALIZED
        length(message)
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/agent_failures_local', '{replica}')
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, failure_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'What went wrong in agents, and what their recorders lost.';

CREATE TABLE IF NOT EXISTS `tachograph`.agent_decisions_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent that emitted the record.',
    run_id String COMMENT 'Run it belongs to; empty if the producer named none.' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace of the run; empty if the producer named none.' CODEC(ZSTD(1)),
    event_id String COMMENT 'Id of the record this row was made from.' CODEC(ZSTD(1)),
    seq Int64 COMMENT 'Place of the record in its run, from 0.' CODEC(Delta, ZSTD(1)),
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'When the broker appended the record.' CODEC(Delta, ZSTD(1)),
    decision_id String COMMENT 'Decision.',
    step_id Nullable(String) COMMENT 'Step it was made in.' CODEC(ZSTD(1)),
    decision_type LowCardinality(String) COMMENT 'Kind of choice.',
    selected String COMMENT 'Option chosen.',
    reason_code LowCardinality(String) COMMENT 'Coded reason.',
    candidates Array(String) COMMENT 'Options considered.',
    confidence Nullable(Float64) COMMENT 'Between 0 and 1.',
    metadata Map(LowCardinality(String), String) COMMENT 'Primitive annotations, as text.' CODEC(ZSTD(3)),
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    metadata_keys Array(LowCardinality(String)) MATERIALIZED
        arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), mapKeys(metadata))
        COMMENT 'Keys of metadata as the block list compares them.',
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
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/agent_decisions_local', '{replica}')
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, decision_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Points where an agent chose between options.';

CREATE TABLE IF NOT EXISTS `tachograph`.agent_quality_signals_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent that emitted the record.',
    run_id String COMMENT 'Run it belongs to; empty if the producer named none.' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace of the run; empty if the producer named none.' CODEC(ZSTD(1)),
    event_id String COMMENT 'Id of the record this row was made from.' CODEC(ZSTD(1)),
    seq Int64 COMMENT 'Place of the record in its run, from 0.' CODEC(Delta, ZSTD(1)),
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'When the broker appended the record.' CODEC(Delta, ZSTD(1)),
    signal_id String COMMENT 'Signal.',
    step_id Nullable(String) COMMENT 'Step it was seen in.' CODEC(ZSTD(1)),
    signal_type LowCardinality(String) COMMENT 'Kind of fact.',
    signal_code LowCardinality(String) COMMENT 'The fact.',
    value Bool COMMENT 'Whether it holds.',
    weight Nullable(Float64) COMMENT 'Between 0 and 1.',
    metadata Map(LowCardinality(String), String) COMMENT 'Primitive annotations, as text.' CODEC(ZSTD(3)),
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    metadata_keys Array(LowCardinality(String)) MATERIALIZED
        arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), mapKeys(metadata))
        COMMENT 'Keys of metadata as the block list compares them.',
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
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/agent_quality_signals_local', '{replica}')
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, signal_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Atomic facts correlated with the quality of outcomes.';

CREATE OR REPLACE TABLE `tachograph`.agent_runs ON CLUSTER `tachograph` AS `tachograph`.agent_runs_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_runs_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.agent_steps ON CLUSTER `tachograph` AS `tachograph`.agent_steps_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_steps_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.agent_failures ON CLUSTER `tachograph` AS `tachograph`.agent_failures_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_failures_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.agent_decisions ON CLUSTER `tachograph` AS `tachograph`.agent_decisions_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_decisions_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.agent_quality_signals ON CLUSTER `tachograph` AS `tachograph`.agent_quality_signals_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_quality_signals_local, cityHash64(tenant_id, trace_id));

-- events

CREATE TABLE IF NOT EXISTS `tachograph`.decision_events_local ON CLUSTER `tachograph`
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/decision_events_local', '{replica}')
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Action boundaries: request, prompt bundle, output, action and evaluation.';

CREATE TABLE IF NOT EXISTS `tachograph`.tool_calls_local ON CLUSTER `tachograph`
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/tool_calls_local', '{replica}')
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, tool_use_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Tool calls, with who called whom.';

CREATE OR REPLACE TABLE `tachograph`.decision_events ON CLUSTER `tachograph` AS `tachograph`.decision_events_local
ENGINE = Distributed(`tachograph`, `tachograph`, decision_events_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.tool_calls ON CLUSTER `tachograph` AS `tachograph`.tool_calls_local
ENGINE = Distributed(`tachograph`, `tachograph`, tool_calls_local, cityHash64(tenant_id, trace_id));

-- context

CREATE TABLE IF NOT EXISTS `tachograph`.context_manifests_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent that emitted the record.',
    run_id String COMMENT 'Run it belongs to; empty if the producer named none.' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace of the run; empty if the producer named none.' CODEC(ZSTD(1)),
    event_id String COMMENT 'Id of the record this row was made from.' CODEC(ZSTD(1)),
    seq Int64 COMMENT 'Place of the record in its run, from 0.' CODEC(Delta, ZSTD(1)),
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'When the broker appended the record.' CODEC(Delta, ZSTD(1)),
    manifest_id String COMMENT 'Manifest.',
    step_id String COMMENT 'Step.' CODEC(ZSTD(1)),
    snapshot_id String COMMENT 'Names the state of the context.',
    intent String COMMENT 'Intent object as JSON text.' CODEC(ZSTD(3)),
    retrieval_query Nullable(String) COMMENT 'Query in the run\'s capture mode.' CODEC(ZSTD(3)),
    candidate_chunk_ids Array(String) COMMENT 'Chunks considered.',
    selected_chunk_ids Array(String) COMMENT 'Chunks chosen.',
    reranker_model Nullable(String) COMMENT 'Reranker.',
    reranker_version Nullable(String) COMMENT 'Its version.',
    token_limit Int64 COMMENT 'Tokens the context could hold.',
    tokens_used Int64 COMMENT 'Tokens it held.',
    tokens_by_source Map(LowCardinality(String), Int64) COMMENT 'Tokens by item type.',
    compiler_version LowCardinality(String) COMMENT 'Version of the context compiler.',
    prefix_hash String COMMENT 'Hash of the cacheable prefix.',
    prefix_length Int64 COMMENT 'Its length.',
    included Int64 COMMENT 'Items included.',
    excluded Int64 COMMENT 'Items considered and left out.',
    prompt_snapshot_artifact_id Nullable(String) COMMENT 'Prompt snapshot, if a fault asked for one.',
    tool_output_snapshot_artifact_ids Array(String) COMMENT 'Tool output snapshots.',
    metadata Map(LowCardinality(String), String) COMMENT 'Primitive annotations, as text.' CODEC(ZSTD(3)),
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    metadata_keys Array(LowCardinality(String)) MATERIALIZED
        arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), mapKeys(metadata))
        COMMENT 'Keys of metadata as the block list compares them.',
    content_bytes UInt64 MATERIALIZED
        greatest(
            length(intent),
            ifNull(length(retrieval_query), 0)
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/context_manifests_local', '{replica}')
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, manifest_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 90 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'What was in the context of each step. Its items are in context_items.';

CREATE TABLE IF NOT EXISTS `tachograph`.context_items_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent that emitted the record.',
    run_id String COMMENT 'Run it belongs to; empty if the producer named none.' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace of the run; empty if the producer named none.' CODEC(ZSTD(1)),
    event_id String COMMENT 'Id of the record this row was made from.' CODEC(ZSTD(1)),
    seq Int64 COMMENT 'Place of the record in its run, from 0.' CODEC(Delta, ZSTD(1)),
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'When the broker appended the record.' CODEC(Delta, ZSTD(1)),
    manifest_id String COMMENT 'Manifest.',
    step_id String COMMENT 'Step.' CODEC(ZSTD(1)),
    position Int64 COMMENT 'Place in the manifest.',
    is_included Bool COMMENT 'In the context, or left out.',
    item_id String COMMENT 'Chunk, artifact or evidence.',
    item_type LowCardinality(String) COMMENT 'Where it comes from.',
    source_ref Nullable(String) COMMENT 'Pointer to its origin.',
    reason String COMMENT 'Why it is in or out.' CODEC(ZSTD(3)),
    tokens Nullable(Int64) COMMENT 'Tokens.',
    score Nullable(Float64) COMMENT 'Reranker\'s score.',
    hash Nullable(String) COMMENT 'SHA-256 of the item.',
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    INDEX run_id_bloom run_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX event_id_bloom event_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX trace_id_bloom trace_id TYPE bloom_filter(0.01) GRANULARITY 1,
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/context_items_local', '{replica}')
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, manifest_id, position, is_included, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 90 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Every item that was in a step\'s context or was left out of it, and why.';

CREATE TABLE IF NOT EXISTS `tachograph`.snapshots_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent it is about; empty if none.',
    snapshot_id String COMMENT 'Snapshot.',
    trace_id String COMMENT 'Trace of the run.' CODEC(ZSTD(1)),
    run_id String COMMENT 'Run it belongs to.' CODEC(ZSTD(1)),
    step_id Nullable(String) COMMENT 'Step it belongs to.' CODEC(ZSTD(1)),
    event_id Nullable(String) COMMENT 'Event it belongs to.' CODEC(ZSTD(1)),
    tool_use_id Nullable(String) COMMENT 'Tool call it belongs to.',
    kind LowCardinality(String) COMMENT 'Prompt or tool output.',
    trigger LowCardinality(String) COMMENT 'Fault that asked for it, or sampled.',
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened.' CODEC(Delta, ZSTD(1)),
    stored Bool COMMENT 'Whether the bytes were stored.',
    artifact_id Nullable(String) COMMENT 'Where they are.',
    path Nullable(String) COMMENT 'Workspace-relative path.',
    hash Nullable(String) COMMENT 'SHA-256 of the bytes.',
    size_bytes Nullable(Int64) COMMENT 'How many bytes.',
    created_at Nullable(DateTime64(6, 'UTC')) COMMENT 'When they were stored.',
    capture_partition Nullable(Int64) COMMENT 'Partition in the captures topic.',
    capture_offset Nullable(Int64) COMMENT 'Place of the bytes in the captures topic.',
    deleted_at Nullable(DateTime64(6, 'UTC')) COMMENT 'When retention removed the bytes.',
    retention LowCardinality(String) COMMENT 'Retention class.',
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    INDEX run_id_bloom run_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX event_id_bloom event_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX trace_id_bloom trace_id TYPE bloom_filter(0.01) GRANULARITY 1,
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/snapshots_local', '{replica}')
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, snapshot_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 14 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Prompts and tool outputs stored because of a fault, and those that could not be.';

CREATE OR REPLACE TABLE `tachograph`.context_manifests ON CLUSTER `tachograph` AS `tachograph`.context_manifests_local
ENGINE = Distributed(`tachograph`, `tachograph`, context_manifests_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.context_items ON CLUSTER `tachograph` AS `tachograph`.context_items_local
ENGINE = Distributed(`tachograph`, `tachograph`, context_items_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.snapshots ON CLUSTER `tachograph` AS `tachograph`.snapshots_local
ENGINE = Distributed(`tachograph`, `tachograph`, snapshots_local, cityHash64(tenant_id, trace_id));

-- records

CREATE TABLE IF NOT EXISTS `tachograph`.record_proposals_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent that emitted the record.',
    run_id String COMMENT 'Run it belongs to; empty if the producer named none.' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace of the run; empty if the producer named none.' CODEC(ZSTD(1)),
    event_id String COMMENT 'Id of the record this row was made from.' CODEC(ZSTD(1)),
    seq Int64 COMMENT 'Place of the record in its run, from 0.' CODEC(Delta, ZSTD(1)),
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'When the broker appended the record.' CODEC(Delta, ZSTD(1)),
    record_id String COMMENT 'Record.',
    decision_key LowCardinality(String) COMMENT 'Decision in the catalog.',
    decision_version LowCardinality(String) COMMENT 'Version of its spec.',
    status LowCardinality(String) COMMENT 'DECIDED, DEFERRED, REJECTED, ESCALATED, IN_FLIGHT or CLOSED.',
    is_primary Bool COMMENT 'The run\'s main decision.',
    actor_type LowCardinality(String) COMMENT 'AGENT, USER or SERVICE.',
    actor_id String COMMENT 'Who decided.',
    workload_identity Nullable(String) COMMENT 'Workload identity of the actor.',
    delegated_user_id Nullable(String) COMMENT 'On whose behalf.',
    intent_ref Nullable(String) COMMENT 'Intent in the catalog.',
    subject_ids Array(String) COMMENT 'What it is about.',
    input_request String COMMENT 'Reference to the request.',
    input_session String COMMENT 'Reference to the session.',
    input_attachments Array(String) COMMENT 'References to attachments.',
    outputs String COMMENT 'Accepted outcome as JSON text.' CODEC(ZSTD(3)),
    evidence_refs Array(String) COMMENT 'Facts it stands on.',
    policy_decisions Array(Tuple(policy_decision_id String, bundle_id LowCardinality(String), bundle_version Nullable(String), rule_ids Array(String), verdict LowCardinality(String))) COMMENT 'Rules that were applied.' CODEC(ZSTD(3)),
    approvals Array(Tuple(gate_id LowCardinality(String), approver String, approval_mode_effective LowCardinality(String), evidence_snapshot_hash String, decided_at DateTime64(6, 'UTC'))) COMMENT 'Gates that were opened.' CODEC(ZSTD(3)),
    must_refuse Array(String) COMMENT 'Refusal controls in force.',
    must_escalate Array(String) COMMENT 'Escalation controls in force.',
    approval_gates_active Array(String) COMMENT 'Approval gates in force.',
    redaction_rules_active Array(String) COMMENT 'Redaction rules in force.',
    tool_lineage Array(Tuple(tool_call_id String, tool_result_id String, approval_mode_effective LowCardinality(String), idempotency_key Nullable(String), reversal_token Nullable(String))) COMMENT 'Side effects.' CODEC(ZSTD(3)),
    score_policy Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_utility Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_latency Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_safety Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_cost Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    budget_tokens Nullable(Int64) COMMENT 'Tokens used.',
    budget_tool_calls Nullable(Int64) COMMENT 'Tool calls made.',
    budget_cost_usd_cents Nullable(String) COMMENT 'Exact decimal.',
    budget_wall_clock_ms Nullable(Int64) COMMENT 'Time used.',
    pack_version LowCardinality(String) COMMENT 'Context pack.',
    policy_versions Array(String) COMMENT 'Policy bundles.',
    decision_spec LowCardinality(String) COMMENT 'Decision spec.',
    kg_snapshot String COMMENT 'Knowledge graph snapshot.',
    model_profile LowCardinality(String) COMMENT 'Model profile.',
    evaluator_suite LowCardinality(String) COMMENT 'Evaluator suite.',
    replay_packet_id Nullable(String) COMMENT 'What a replay loads.',
    compiled_context_hash Nullable(String) COMMENT 'Hash of the compiled context.',
    tool_transcript_chain_hash Nullable(String) COMMENT 'Hash of the tool transcripts.',
    replay_last_status LowCardinality(String) COMMENT 'Result of the last replay.',
    supersedes Nullable(String) COMMENT 'Record that this one corrects.',
    incident_id Nullable(String) COMMENT 'Incident it is linked to.',
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    content_bytes UInt64 MATERIALIZED
        length(outputs)
        COMMENT 'Size of the largest single content in the row.',
    INDEX run_id_bloom run_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX event_id_bloom event_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX trace_id_bloom trace_id TYPE bloom_filter(0.01) GRANULARITY 1,
    CONSTRAINT content_is_at_most_64_kb CHECK content_bytes <= 65536,
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/record_proposals_local', '{replica}')
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, record_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Decision records as agents proposed them, before any verdict.';

CREATE TABLE IF NOT EXISTS `tachograph`.decision_records_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent that emitted the record.',
    run_id String COMMENT 'Run it belongs to; empty if the producer named none.' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace of the run; empty if the producer named none.' CODEC(ZSTD(1)),
    event_id String COMMENT 'Id of the record this row was made from.' CODEC(ZSTD(1)),
    seq Int64 COMMENT 'Place of the record in its run, from 0.' CODEC(Delta, ZSTD(1)),
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'When the broker appended the record.' CODEC(Delta, ZSTD(1)),
    record_id String COMMENT 'Record.',
    decision_key LowCardinality(String) COMMENT 'Decision in the catalog.',
    decision_version LowCardinality(String) COMMENT 'Version of its spec.',
    status LowCardinality(String) COMMENT 'DECIDED, DEFERRED, REJECTED, ESCALATED, IN_FLIGHT or CLOSED.',
    is_primary Bool COMMENT 'The run\'s main decision.',
    actor_type LowCardinality(String) COMMENT 'AGENT, USER or SERVICE.',
    actor_id String COMMENT 'Who decided.',
    workload_identity Nullable(String) COMMENT 'Workload identity of the actor.',
    delegated_user_id Nullable(String) COMMENT 'On whose behalf.',
    intent_ref Nullable(String) COMMENT 'Intent in the catalog.',
    subject_ids Array(String) COMMENT 'What it is about.',
    input_request String COMMENT 'Reference to the request.',
    input_session String COMMENT 'Reference to the session.',
    input_attachments Array(String) COMMENT 'References to attachments.',
    outputs String COMMENT 'Accepted outcome as JSON text.' CODEC(ZSTD(3)),
    evidence_refs Array(String) COMMENT 'Facts it stands on.',
    policy_decisions Array(Tuple(policy_decision_id String, bundle_id LowCardinality(String), bundle_version Nullable(String), rule_ids Array(String), verdict LowCardinality(String))) COMMENT 'Rules that were applied.' CODEC(ZSTD(3)),
    approvals Array(Tuple(gate_id LowCardinality(String), approver String, approval_mode_effective LowCardinality(String), evidence_snapshot_hash String, decided_at DateTime64(6, 'UTC'))) COMMENT 'Gates that were opened.' CODEC(ZSTD(3)),
    must_refuse Array(String) COMMENT 'Refusal controls in force.',
    must_escalate Array(String) COMMENT 'Escalation controls in force.',
    approval_gates_active Array(String) COMMENT 'Approval gates in force.',
    redaction_rules_active Array(String) COMMENT 'Redaction rules in force.',
    tool_lineage Array(Tuple(tool_call_id String, tool_result_id String, approval_mode_effective LowCardinality(String), idempotency_key Nullable(String), reversal_token Nullable(String))) COMMENT 'Side effects.' CODEC(ZSTD(3)),
    score_policy Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_utility Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_latency Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_safety Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_cost Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    budget_tokens Nullable(Int64) COMMENT 'Tokens used.',
    budget_tool_calls Nullable(Int64) COMMENT 'Tool calls made.',
    budget_cost_usd_cents Nullable(String) COMMENT 'Exact decimal.',
    budget_wall_clock_ms Nullable(Int64) COMMENT 'Time used.',
    pack_version LowCardinality(String) COMMENT 'Context pack.',
    policy_versions Array(String) COMMENT 'Policy bundles.',
    decision_spec LowCardinality(String) COMMENT 'Decision spec.',
    kg_snapshot String COMMENT 'Knowledge graph snapshot.',
    model_profile LowCardinality(String) COMMENT 'Model profile.',
    evaluator_suite LowCardinality(String) COMMENT 'Evaluator suite.',
    replay_packet_id Nullable(String) COMMENT 'What a replay loads.',
    compiled_context_hash Nullable(String) COMMENT 'Hash of the compiled context.',
    tool_transcript_chain_hash Nullable(String) COMMENT 'Hash of the tool transcripts.',
    replay_last_status LowCardinality(String) COMMENT 'Result of the last replay.',
    supersedes Nullable(String) COMMENT 'Record that this one corrects.',
    incident_id Nullable(String) COMMENT 'Incident it is linked to.',
    proposed_status LowCardinality(String) COMMENT 'Status the agent proposed.',
    verdicts Array(Tuple(rule LowCardinality(String), passed Bool, code LowCardinality(String), message String)) COMMENT 'What the eight rules said.' CODEC(ZSTD(3)),
    retention LowCardinality(String) COMMENT 'Retention class.',
    log_id LowCardinality(String) COMMENT 'Log it is sealed in.',
    log_seq Int64 COMMENT 'Place in the log, from 0.',
    prev_hash String COMMENT 'Hash of the record before it.' CODEC(ZSTD(1)),
    record_hash String COMMENT 'Hash of the canonical record.' CODEC(ZSTD(1)),
    signed_by LowCardinality(String) COMMENT 'Key id.',
    signature String COMMENT 'Ed25519 over the record hash, base64.' CODEC(ZSTD(1)),
    sealed_at DateTime64(6, 'UTC') COMMENT 'Broker\'s append time of the proposal.',
    body String COMMENT 'Canonical JSON that was hashed, exact bytes.' CODEC(ZSTD(3)),
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    INDEX run_id_bloom run_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX event_id_bloom event_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX trace_id_bloom trace_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX record_id_bloom record_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX decision_key_bloom decision_key TYPE bloom_filter(0.01) GRANULARITY 1,
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/decision_records_local', '{replica}')
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, log_id, log_seq)
ORDER BY (tenant_id, log_id, log_seq, record_hash, _partition, _offset)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Sealed decision records. Appended, never changed.';

CREATE TABLE IF NOT EXISTS `tachograph`.checkpoints_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    log_id LowCardinality(String) COMMENT 'Log.',
    tree_size Int64 COMMENT 'Records under the head.',
    root_hash String COMMENT 'Base64, as in the note.',
    head_hash String COMMENT 'Record hash of the last record in the chain.',
    note String COMMENT 'C2SP signed note, exact bytes.' CODEC(ZSTD(3)),
    signed_by LowCardinality(String) COMMENT 'Key id.',
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened.' CODEC(Delta, ZSTD(1)),
    anchor Nullable(String) COMMENT 'Where it was anchored, if it was.',
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/checkpoints_local', '{replica}')
PRIMARY KEY (tenant_id, log_id, tree_size)
ORDER BY (tenant_id, log_id, tree_size, root_hash, signed_by, _partition, _offset)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Signed heads of the record logs.';

CREATE OR REPLACE TABLE `tachograph`.record_proposals ON CLUSTER `tachograph` AS `tachograph`.record_proposals_local
ENGINE = Distributed(`tachograph`, `tachograph`, record_proposals_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.decision_records ON CLUSTER `tachograph` AS `tachograph`.decision_records_local
ENGINE = Distributed(`tachograph`, `tachograph`, decision_records_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.checkpoints ON CLUSTER `tachograph` AS `tachograph`.checkpoints_local
ENGINE = Distributed(`tachograph`, `tachograph`, checkpoints_local, cityHash64(tenant_id, log_id));

-- pipeline

CREATE TABLE IF NOT EXISTS `tachograph`.violations_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent it is about; empty if none.',
    violation_id String COMMENT 'Derived from what it reports.',
    kind LowCardinality(String) COMMENT 'What sort of promise was broken.',
    code LowCardinality(String) COMMENT 'Stable code of the rule, such as ``observability.missing_capture_mode``.',
    severity LowCardinality(String) COMMENT 'How bad.',
    message String COMMENT 'What was broken and what to do, without captured content.' CODEC(ZSTD(3)),
    evidence Nullable(String) COMMENT 'Redacted excerpt, or a pointer.' CODEC(ZSTD(3)),
    constraint_id Nullable(String) COMMENT 'Constraint of the request.',
    verdict LowCardinality(String) COMMENT 'What the rule said.',
    action LowCardinality(String) COMMENT 'What was enforced.',
    trace_id String COMMENT 'Trace of the run.' CODEC(ZSTD(1)),
    run_id String COMMENT 'Run it belongs to.' CODEC(ZSTD(1)),
    event_id Nullable(String) COMMENT 'Event that broke it, where one event did.' CODEC(ZSTD(1)),
    step_id Nullable(String) COMMENT 'Step it belongs to.' CODEC(ZSTD(1)),
    tool_use_id Nullable(String) COMMENT 'Tool call it belongs to.',
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened.' CODEC(Delta, ZSTD(1)),
    sample_event_ids Array(String) COMMENT 'Examples, for violations over many events.',
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    content_bytes UInt64 MATERIALIZED
        greatest(
            length(message),
            ifNull(length(evidence), 0)
        )
        COMMENT 'Size of the largest single content in the row.',
    INDEX run_id_bloom run_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX event_id_bloom event_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX trace_id_bloom trace_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX violation_id_bloom violation_id TYPE bloom_filter(0.01) GRANULARITY 1,
    CONSTRAINT content_is_at_most_64_kb CHECK content_bytes <= 65536,
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/violations_local', '{replica}')
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, violation_id)
TTL toDateTime(_ingested_at) + INTERVAL 730 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Broken promises of every kind.';

CREATE TABLE IF NOT EXISTS `tachograph`.dead_letters_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data it is, if that is known.',
    dead_letter_id String COMMENT 'Derived from where the message was read.',
    source_topic LowCardinality(String) COMMENT 'Topic it was read from.',
    source_partition Int64 COMMENT 'Partition it was read from.',
    source_offset Int64 COMMENT 'Offset it was read at.',
    stage LowCardinality(String) COMMENT 'DECODE, PROCESS or INSERT.',
    component LowCardinality(String) COMMENT 'Who gave up.',
    error_type LowCardinality(String) COMMENT 'Class of the error.',
    error String COMMENT 'What was wrong, without the content that was wrong.' CODEC(ZSTD(3)),
    size_bytes Int64 COMMENT 'Size of the message.',
    value_sha256 String COMMENT 'SHA-256 of its bytes.',
    occurred_at DateTime64(6, 'UTC') COMMENT 'Broker time of the original message.' CODEC(Delta, ZSTD(1)),
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    INDEX dead_letter_id_bloom dead_letter_id TYPE bloom_filter(0.01) GRANULARITY 1,
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/dead_letters_local', '{replica}')
PRIMARY KEY (tenant_id, source_topic, source_partition, source_offset)
ORDER BY (tenant_id, source_topic, source_partition, source_offset, stage, dead_letter_id)
TTL toDateTime(_ingested_at) + INTERVAL 90 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Messages that could not be processed. Their bytes stay in the dead-letter topic.';

CREATE OR REPLACE TABLE `tachograph`.violations ON CLUSTER `tachograph` AS `tachograph`.violations_local
ENGINE = Distributed(`tachograph`, `tachograph`, violations_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.dead_letters ON CLUSTER `tachograph` AS `tachograph`.dead_letters_local
ENGINE = Distributed(`tachograph`, `tachograph`, dead_letters_local, cityHash64(tenant_id, source_topic, source_partition));

-- views

CREATE OR REPLACE VIEW `tachograph`.runs ON CLUSTER `tachograph` AS
WITH (change.received_at, change._offset) AS written
SELECT
    tenant_id,
    run_id,
    argMaxIf(change.agent_id, written, change.agent_id != '') AS agent_id,
    argMaxIf(change.trace_id, written, change.trace_id != '') AS trace_id,
    argMaxIf(change.session_id, written, change.session_id != '') AS session_id,
    argMaxIf(change.agent_version, written, change.agent_version != '') AS agent_version,
    argMaxIf(change.environment, written, change.environment != '') AS environment,
    argMaxIf(change.capture_mode, written, change.capture_mode != '') AS capture_mode,
    argMaxIf(change.status, written, change.status != '') AS status,
    argMaxIf(change.request_id, written, change.request_id != '') AS request_id,
    argMaxIf(change.user_request_raw, written, change.user_request_raw != '') AS user_request_raw,
    argMaxIf(change.channel, written, change.channel != '') AS channel,
    argMax(change.repo, written) AS repo,
    argMax(change.branch, written) AS branch,
    argMax(change.ticket_id, written) AS ticket_id,
    argMax(change.parent_run_id, written) AS parent_run_id,
    argMaxIf(change.sdk, written, change.sdk != '') AS sdk,
    argMax(change.started_at, written) AS started_at,
    argMax(change.ended_at, written) AS ended_at,
    argMax(change.duration_ms, written) AS duration_ms,
    argMax(change.emitted, written) AS emitted,
    max(change.received) AS received,
    argMax(change.dropped, written) AS dropped,
    argMax(change.input_tokens, written) AS input_tokens,
    argMax(change.output_tokens, written) AS output_tokens,
    argMax(change.error_type, written) AS error_type,
    argMaxIf(change.completeness, written, change.completeness != '') AS completeness,
    argMax(change.missing, written) AS missing,
    min(change.occurred_at) AS first_seen_at,
    max(change.occurred_at) AS last_seen_at
FROM `tachograph`.agent_runs AS change
GROUP BY tenant_id, run_id;

CREATE OR REPLACE VIEW `tachograph`.steps ON CLUSTER `tachograph` AS
WITH (change.received_at, change._offset) AS written
SELECT
    tenant_id,
    run_id,
    step_id,
    argMaxIf(change.agent_id, written, change.agent_id != '') AS agent_id,
    argMaxIf(change.trace_id, written, change.trace_id != '') AS trace_id,
    argMax(change.parent_step_id, written) AS parent_step_id,
    argMaxIf(change.span_id, written, change.span_id != '') AS span_id,
    argMax(change.parent_span_id, written) AS parent_span_id,
    argMaxIf(change.step_type, written, change.step_type != '') AS step_type,
    argMaxIf(change.name, written, change.name != '') AS name,
    argMaxIf(change.status, written, change.status != '') AS status,
    argMax(change.duration_ms, written) AS duration_ms,
    argMax(change.error_type, written) AS error_type,
    min(change.occurred_at) AS first_seen_at,
    max(change.occurred_at) AS last_seen_at,
    min(change.seq) AS first_seq
FROM `tachograph`.agent_steps AS change
GROUP BY tenant_id, run_id, step_id;

-- joined

ALTER TABLE `tachograph`.tool_calls_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS event_ids Array(String) DEFAULT [] COMMENT 'Records that the row was joined from.' AFTER metadata,
    ADD COLUMN IF NOT EXISTS requested Bool DEFAULT false COMMENT 'A model asked for the call.' AFTER event_ids,
    ADD COLUMN IF NOT EXISTS requested_event_id Nullable(String) COMMENT 'Event in which it did.' AFTER requested,
    ADD COLUMN IF NOT EXISTS arguments Nullable(String) COMMENT 'What the model asked for, as JSON text in its capture mode.' AFTER requested_event_id,
    ADD COLUMN IF NOT EXISTS requested_at Nullable(DateTime64(6, 'UTC')) COMMENT 'When the model asked for it.' AFTER arguments,
    ADD COLUMN IF NOT EXISTS started_at Nullable(DateTime64(6, 'UTC')) COMMENT 'When the pre-hooks had run.' AFTER requested_at,
    ADD COLUMN IF NOT EXISTS finished_at Nullable(DateTime64(6, 'UTC')) COMMENT 'When the post-hooks had run.' AFTER started_at,
    ADD COLUMN IF NOT EXISTS handed_at Nullable(DateTime64(6, 'UTC')) COMMENT 'When the agent had the result.' AFTER finished_at,
    ADD COLUMN IF NOT EXISTS latency_ms Nullable(Int64) COMMENT 'From the request, or else the start, to the result.' AFTER handed_at,
    ADD COLUMN IF NOT EXISTS attribution Array(String) DEFAULT [] COMMENT 'Calls it is nested in, outermost first.' AFTER latency_ms,
    ADD COLUMN IF NOT EXISTS hook_action LowCardinality(String) DEFAULT '' COMMENT 'Strongest hook outcome: abort, skip or continue; empty without hooks.' AFTER attribution,
    ADD COLUMN IF NOT EXISTS result_is_error Bool DEFAULT false COMMENT 'The tool failed.' AFTER hook_action,
    ADD COLUMN IF NOT EXISTS complete Bool DEFAULT false COMMENT 'Every leg is there.' AFTER result_is_error,
    ADD COLUMN IF NOT EXISTS missing Array(String) DEFAULT [] COMMENT 'Legs that are not: pre, post, result.' AFTER complete,
    ADD COLUMN IF NOT EXISTS closed_by LowCardinality(String) DEFAULT '' COMMENT 'joined, run_ended, timeout, silence or bound; empty for a lone leg.' AFTER missing,
    COMMENT COLUMN leg 'call; or pre, post or result for a leg that came too late or twice to be joined.',
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            ifNull(length(tool_input), 0),
            ifNull(length(output), 0),
            ifNull(length(error), 0),
            ifNull(length(arguments), 0)
        );

ALTER TABLE `tachograph`.tool_calls_local ON CLUSTER `tachograph`
    ADD INDEX IF NOT EXISTS event_ids_bloom event_ids TYPE bloom_filter(0.01) GRANULARITY 1;

ALTER TABLE `tachograph`.agent_runs_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS tool_calls Nullable(Int64) COMMENT 'Tool calls of the run.' AFTER metadata,
    ADD COLUMN IF NOT EXISTS tool_calls_joined Nullable(Int64) COMMENT 'Those of which every leg arrived.' AFTER tool_calls,
    ADD COLUMN IF NOT EXISTS repeats Nullable(Int64) COMMENT 'Records that arrived more than once and were counted once.' AFTER tool_calls_joined,
    COMMENT COLUMN event_type 'run_started, run_ended, or run_silent if it stopped without an end.';

CREATE TABLE IF NOT EXISTS `tachograph`.evaluations_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent that emitted the record.',
    run_id String COMMENT 'Run it belongs to; empty if the producer named none.' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace of the run; empty if the producer named none.' CODEC(ZSTD(1)),
    event_id String COMMENT 'Id of the record this row was made from.' CODEC(ZSTD(1)),
    seq Int64 COMMENT 'Place of the record in its run, from 0.' CODEC(Delta, ZSTD(1)),
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'When the broker appended the record.' CODEC(Delta, ZSTD(1)),
    step_id Nullable(String) COMMENT 'Step it happened in.' CODEC(ZSTD(1)),
    action_type LowCardinality(String) COMMENT 'What the agent did.',
    capture_mode LowCardinality(String) COMMENT 'full, redacted or hashed; hashed content cannot be judged.',
    alignment_status LowCardinality(String) COMMENT 'pass, warn, fail or unknown.',
    alignment_score Nullable(Float64) COMMENT 'Share of decided checks that passed.',
    alignment_checks Array(Tuple(id String, status LowCardinality(String), message String, constraint_id Nullable(String))) COMMENT 'Checks behind the alignment status.' CODEC(ZSTD(3)),
    quality_status LowCardinality(String) COMMENT 'pass, warn, fail or unknown.',
    quality_score Nullable(Float64) COMMENT 'Share of decided checks that passed.',
    quality_checks Array(Tuple(id String, status LowCardinality(String), message String, constraint_id Nullable(String))) COMMENT 'Checks behind the quality status.' CODEC(ZSTD(3)),
    policy_status LowCardinality(String) COMMENT 'pass, warn, fail or unknown.',
    policy_score Nullable(Float64) COMMENT 'Share of decided checks that passed.',
    policy_checks Array(Tuple(id String, status LowCardinality(String), message String, constraint_id Nullable(String))) COMMENT 'Checks behind the policy status.' CODEC(ZSTD(3)),
    rules LowCardinality(String) COMMENT 'Rule packs and versions that were in force.',
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    INDEX run_id_bloom run_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX event_id_bloom event_id TYPE bloom_filter(0.01) GRANULARITY 1,
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/evaluations_local', '{replica}')
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'What the stream made of each action boundary, beside what the agent said of itself.';

CREATE OR REPLACE TABLE `tachograph`.tool_calls ON CLUSTER `tachograph` AS `tachograph`.tool_calls_local
ENGINE = Distributed(`tachograph`, `tachograph`, tool_calls_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.agent_runs ON CLUSTER `tachograph` AS `tachograph`.agent_runs_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_runs_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.evaluations ON CLUSTER `tachograph` AS `tachograph`.evaluations_local
ENGINE = Distributed(`tachograph`, `tachograph`, evaluations_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE VIEW `tachograph`.runs ON CLUSTER `tachograph` AS
WITH (change.received_at, change._offset) AS written
SELECT
    tenant_id,
    run_id,
    argMaxIf(change.agent_id, written, change.agent_id != '') AS agent_id,
    argMaxIf(change.trace_id, written, change.trace_id != '') AS trace_id,
    argMaxIf(change.session_id, written, change.session_id != '') AS session_id,
    argMaxIf(change.agent_version, written, change.agent_version != '') AS agent_version,
    argMaxIf(change.environment, written, change.environment != '') AS environment,
    argMaxIf(change.capture_mode, written, change.capture_mode != '') AS capture_mode,
    argMaxIf(change.status, written, change.status != '') AS status,
    argMaxIf(change.request_id, written, change.request_id != '') AS request_id,
    argMaxIf(change.user_request_raw, written, change.user_request_raw != '') AS user_request_raw,
    argMaxIf(change.channel, written, change.channel != '') AS channel,
    argMax(change.repo, written) AS repo,
    argMax(change.branch, written) AS branch,
    argMax(change.ticket_id, written) AS ticket_id,
    argMax(change.parent_run_id, written) AS parent_run_id,
    argMaxIf(change.sdk, written, change.sdk != '') AS sdk,
    argMax(change.started_at, written) AS started_at,
    argMax(change.ended_at, written) AS ended_at,
    argMax(change.duration_ms, written) AS duration_ms,
    argMax(change.emitted, written) AS emitted,
    max(change.received) AS received,
    argMax(change.dropped, written) AS dropped,
    argMax(change.input_tokens, written) AS input_tokens,
    argMax(change.output_tokens, written) AS output_tokens,
    argMax(change.error_type, written) AS error_type,
    argMaxIf(change.completeness, written, change.completeness != '') AS completeness,
    argMax(change.missing, written) AS missing,
    argMax(change.tool_calls, written) AS tool_calls,
    argMax(change.tool_calls_joined, written) AS tool_calls_joined,
    argMax(change.repeats, written) AS repeats,
    min(change.occurred_at) AS first_seen_at,
    max(change.occurred_at) AS last_seen_at
FROM `tachograph`.agent_runs AS change
GROUP BY tenant_id, run_id;

-- snapshots

ALTER TABLE `tachograph`.snapshots_local ON CLUSTER `tachograph` MODIFY TTL toDateTime(_ingested_at) + INTERVAL 90 DAY;

CREATE OR REPLACE TABLE `tachograph`.snapshots ON CLUSTER `tachograph` AS `tachograph`.snapshots_local
ENGINE = Distributed(`tachograph`, `tachograph`, snapshots_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE VIEW `tachograph`.snapshot_pointers ON CLUSTER `tachograph` AS
WITH (isNotNull(change.deleted_at), change._ingested_at, change._offset) AS written
SELECT
    tenant_id,
    run_id,
    snapshot_id,
    any(change.agent_id) AS agent_id,
    any(change.trace_id) AS trace_id,
    any(change.step_id) AS step_id,
    any(change.event_id) AS event_id,
    argMax(change.tool_use_id, written) AS tool_use_id,
    argMax(change.kind, written) AS kind,
    any(change.trigger) AS trigger,
    any(change.occurred_at) AS occurred_at,
    argMax(change.stored, written) AS stored,
    argMax(change.artifact_id, written) AS artifact_id,
    argMax(change.path, written) AS path,
    argMax(change.hash, written) AS hash,
    argMax(change.size_bytes, written) AS size_bytes,
    argMax(change.created_at, written) AS created_at,
    argMax(change.deleted_at, written) AS deleted_at,
    argMax(change.retention, written) AS retention
FROM `tachograph`.snapshots AS change
GROUP BY tenant_id, run_id, snapshot_id;

CREATE OR REPLACE VIEW `tachograph`.manifests ON CLUSTER `tachograph` AS
SELECT manifest.*, pointers.snapshots AS snapshots
FROM `tachograph`.context_manifests AS manifest
LEFT JOIN
(
    SELECT
        tenant_id,
        run_id,
        assumeNotNull(step_id) AS step_id,
        groupArray((snapshot_id, kind, trigger, stored, artifact_id, path, hash, size_bytes, created_at, deleted_at)::Tuple(
            snapshot_id String, kind String, trigger String, stored Bool, artifact_id Nullable(String), path Nullable(String),
            hash Nullable(String), size_bytes Nullable(Int64), created_at Nullable(DateTime64(6, 'UTC')),
            deleted_at Nullable(DateTime64(6, 'UTC')))) AS snapshots
    FROM `tachograph`.snapshot_pointers
    WHERE isNotNull(step_id)
    GROUP BY tenant_id, run_id, step_id
) AS pointers USING (tenant_id, run_id, step_id);

CREATE OR REPLACE VIEW `tachograph`.events ON CLUSTER `tachograph` AS
SELECT event.*, pointers.snapshots AS snapshots
FROM `tachograph`.decision_events AS event
LEFT JOIN
(
    SELECT
        tenant_id,
        run_id,
        ifNull(step_id, '') AS step,
        groupArray((snapshot_id, kind, trigger, stored, artifact_id, path, hash, size_bytes, created_at, deleted_at)::Tuple(
            snapshot_id String, kind String, trigger String, stored Bool, artifact_id Nullable(String), path Nullable(String),
            hash Nullable(String), size_bytes Nullable(Int64), created_at Nullable(DateTime64(6, 'UTC')),
            deleted_at Nullable(DateTime64(6, 'UTC')))) AS snapshots
    FROM `tachograph`.snapshot_pointers
    GROUP BY tenant_id, run_id, step
) AS pointers ON pointers.tenant_id = event.tenant_id AND pointers.run_id = event.run_id AND pointers.step = ifNull(event.step_id, '');

-- replays

CREATE TABLE IF NOT EXISTS `tachograph`.replays_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent it is about; empty if none.',
    replay_id String COMMENT 'Replay; a repeat of the same message is the same row.',
    trace_id String COMMENT 'Trace of the run.' CODEC(ZSTD(1)),
    run_id String COMMENT 'Run that was replayed.' CODEC(ZSTD(1)),
    record_id String COMMENT 'Record that was replayed; empty if the run has none.' CODEC(ZSTD(1)),
    decision_key LowCardinality(String) COMMENT 'Decision in the catalog; empty if the run has no record.',
    decision_spec LowCardinality(String) COMMENT 'Decision spec that the record pins, with its version.',
    pack_version LowCardinality(String) COMMENT 'Context pack that the record pins.',
    policy_versions Array(String) COMMENT 'Policy bundles that the record pins.',
    outcome LowCardinality(String) COMMENT 'replay_equal, or the type of the first difference.',
    diffs String COMMENT 'Every difference as JSON text: types, places and hashes, without captured content.' CODEC(ZSTD(3)),
    replayed_by LowCardinality(String) COMMENT 'What replayed it, with its version.',
    replayed_at DateTime64(6, 'UTC') COMMENT 'When it was replayed.' CODEC(Delta, ZSTD(1)),
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    content_bytes UInt64 MATERIALIZED
        length(diffs)
        COMMENT 'Size of the largest single content in the row.',
    INDEX run_id_bloom run_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX record_id_bloom record_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX trace_id_bloom trace_id TYPE bloom_filter(0.01) GRANULARITY 1,
    CONSTRAINT content_is_at_most_64_kb CHECK content_bytes <= 65536,
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/replays_local', '{replica}')
PRIMARY KEY (tenant_id, pack_version, replayed_at)
ORDER BY (tenant_id, pack_version, replayed_at, run_id, replay_id)
TTL toDateTime(_ingested_at) + INTERVAL 730 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Results of replaying records and runs. Replaying again adds a row.';

CREATE OR REPLACE TABLE `tachograph`.replays ON CLUSTER `tachograph` AS `tachograph`.replays_local
ENGINE = Distributed(`tachograph`, `tachograph`, replays_local, cityHash64(tenant_id, trace_id));

-- rollups

CREATE TABLE IF NOT EXISTS `tachograph`.model_minutes_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    minute DateTime('UTC') COMMENT 'Start of the minute in which the calls ended, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    agent_id LowCardinality(String) COMMENT 'Agent that called.',
    provider LowCardinality(String) COMMENT 'Who served the model.',
    model LowCardinality(String) COMMENT 'Model.',
    calls SimpleAggregateFunction(sum, UInt64) COMMENT 'Model calls.',
    errors SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls that brought nothing back.',
    without_usage SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls whose tokens the provider did not tell.',
    input_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Tokens sent.',
    output_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Tokens received.',
    timed SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls whose time is known.',
    latency_ms AggregateFunction(quantilesDD(0.01, 0.5, 0.9, 0.95, 0.99), Nullable(Float64)) COMMENT 'Sketch of latencies in milliseconds.'
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/tachograph/model_minutes_local', '{replica}')
ORDER BY (tenant_id, minute, agent_id, provider, model)
TTL minute + INTERVAL 30 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Model calls by minute. The view model_usage_by_minute reads it.';

CREATE TABLE IF NOT EXISTS `tachograph`.model_hours_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    hour DateTime('UTC') COMMENT 'Start of the hour in which the calls ended, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    agent_id LowCardinality(String) COMMENT 'Agent that called.',
    provider LowCardinality(String) COMMENT 'Who served the model.',
    model LowCardinality(String) COMMENT 'Model.',
    calls SimpleAggregateFunction(sum, UInt64) COMMENT 'Model calls.',
    errors SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls that brought nothing back.',
    without_usage SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls whose tokens the provider did not tell.',
    input_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Tokens sent.',
    output_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Tokens received.',
    timed SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls whose time is known.',
    latency_ms AggregateFunction(quantilesDD(0.01, 0.5, 0.9, 0.95, 0.99), Nullable(Float64)) COMMENT 'Sketch of latencies in milliseconds.'
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/tachograph/model_hours_local', '{replica}')
ORDER BY (tenant_id, hour, agent_id, provider, model)
TTL hour + INTERVAL 730 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Model calls by hour. The view model_usage_by_hour reads it.';

CREATE TABLE IF NOT EXISTS `tachograph`.tool_minutes_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    minute DateTime('UTC') COMMENT 'Start of the minute in which the calls began, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    agent_id LowCardinality(String) COMMENT 'Agent that called.',
    tool_name LowCardinality(String) COMMENT 'Tool.',
    calls SimpleAggregateFunction(sum, UInt64) COMMENT 'Tool calls.',
    errors SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls that failed.',
    stopped SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls that a hook skipped or aborted.',
    incomplete SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls of which a leg never arrived.',
    timed SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls whose time is known.',
    latency_ms AggregateFunction(quantilesDD(0.01, 0.5, 0.9, 0.95, 0.99), Nullable(Float64)) COMMENT 'Sketch of durations in milliseconds.'
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/tachograph/tool_minutes_local', '{replica}')
ORDER BY (tenant_id, minute, agent_id, tool_name)
TTL minute + INTERVAL 30 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Tool calls by minute. The view tool_usage_by_minute reads it.';

CREATE TABLE IF NOT EXISTS `tachograph`.tool_hours_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    hour DateTime('UTC') COMMENT 'Start of the hour in which the calls began, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    agent_id LowCardinality(String) COMMENT 'Agent that called.',
    tool_name LowCardinality(String) COMMENT 'Tool.',
    calls SimpleAggregateFunction(sum, UInt64) COMMENT 'Tool calls.',
    errors SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls that failed.',
    stopped SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls that a hook skipped or aborted.',
    incomplete SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls of which a leg never arrived.',
    timed SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls whose time is known.',
    latency_ms AggregateFunction(quantilesDD(0.01, 0.5, 0.9, 0.95, 0.99), Nullable(Float64)) COMMENT 'Sketch of durations in milliseconds.'
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/tachograph/tool_hours_local', '{replica}')
ORDER BY (tenant_id, hour, agent_id, tool_name)
TTL hour + INTERVAL 730 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Tool calls by hour. The view tool_usage_by_hour reads it.';

CREATE OR REPLACE TABLE `tachograph`.model_minutes ON CLUSTER `tachograph` AS `tachograph`.model_minutes_local
ENGINE = Distributed(`tachograph`, `tachograph`, model_minutes_local, cityHash64(tenant_id, agent_id));

CREATE OR REPLACE TABLE `tachograph`.model_hours ON CLUSTER `tachograph` AS `tachograph`.model_hours_local
ENGINE = Distributed(`tachograph`, `tachograph`, model_hours_local, cityHash64(tenant_id, agent_id));

CREATE OR REPLACE TABLE `tachograph`.tool_minutes ON CLUSTER `tachograph` AS `tachograph`.tool_minutes_local
ENGINE = Distributed(`tachograph`, `tachograph`, tool_minutes_local, cityHash64(tenant_id, agent_id));

CREATE OR REPLACE TABLE `tachograph`.tool_hours ON CLUSTER `tachograph` AS `tachograph`.tool_hours_local
ENGINE = Distributed(`tachograph`, `tachograph`, tool_hours_local, cityHash64(tenant_id, agent_id));

CREATE TABLE IF NOT EXISTS `tachograph`.model_prices ON CLUSTER `tachograph`
(
    provider LowCardinality(String) COMMENT 'Who serves the model.',
    model LowCardinality(String) COMMENT 'Model, as calls name it.',
    effective_from DateTime('UTC') COMMENT 'From when on the price holds, until the next one of the model.',
    input_usd_per_mtok Nullable(Decimal(18, 6)) COMMENT 'US dollars for a million tokens sent; NULL if there is no price any more.',
    output_usd_per_mtok Nullable(Decimal(18, 6)) COMMENT 'US dollars for a million tokens received; NULL if there is no price any more.',
    source String COMMENT 'Where the price comes from.',
    loaded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When it was loaded. The latest counts.'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/all/tachograph/model_prices', '{shard}-{replica}', loaded_at)
ORDER BY (provider, model, effective_from)
COMMENT 'Prices of models. `tachograph prices apply` writes it.';

CREATE MATERIALIZED VIEW IF NOT EXISTS `tachograph`.model_minutes_feed ON CLUSTER `tachograph` TO `tachograph`.model_minutes_local
DEFINER = CURRENT_USER SQL SECURITY DEFINER
AS SELECT
    tenant_id,
    toDateTime(intDiv(least(greatest(toUnixTimestamp64Micro(occurred_at), 0), 4294967295000000), 60000000) * 60, 'UTC') AS minute,
    agent_id,
    provider,
    model,
    count() AS calls,
    countIf(isNull(event.completion_id) AND isNull(event.output_raw) AND isNull(event.output_artifact_id) AND isNull(event.output_structured) AND empty(event.tool_calls)) AS errors,
    countIf(isNull(event.input_tokens) AND isNull(event.output_tokens)) AS without_usage,
    sum(toUInt64(greatest(ifNull(event.input_tokens, 0), 0))) AS input_tokens,
    sum(toUInt64(greatest(ifNull(event.output_tokens, 0), 0))) AS output_tokens,
    countIf(isNotNull(event.latency_ms)) AS timed,
    quantilesDDState(0.01, 0.5, 0.9, 0.95, 0.99)(toFloat64(greatest(event.latency_ms, 0))) AS latency_ms
FROM `tachograph`.decision_events_local AS event
WHERE provider != ''
GROUP BY tenant_id, minute, agent_id, provider, model;

CREATE MATERIALIZED VIEW IF NOT EXISTS `tachograph`.model_hours_feed ON CLUSTER `tachograph` TO `tachograph`.model_hours_local
DEFINER = CURRENT_USER SQL SECURITY DEFINER
AS SELECT
    tenant_id,
    toDateTime(intDiv(least(greatest(toUnixTimestamp64Micro(occurred_at), 0), 4294967295000000), 3600000000) * 3600, 'UTC') AS hour,
    agent_id,
    provider,
    model,
    count() AS calls,
    countIf(isNull(event.completion_id) AND isNull(event.output_raw) AND isNull(event.output_artifact_id) AND isNull(event.output_structured) AND empty(event.tool_calls)) AS errors,
    countIf(isNull(event.input_tokens) AND isNull(event.output_tokens)) AS without_usage,
    sum(toUInt64(greatest(ifNull(event.input_tokens, 0), 0))) AS input_tokens,
    sum(toUInt64(greatest(ifNull(event.output_tokens, 0), 0))) AS output_tokens,
    countIf(isNotNull(event.latency_ms)) AS timed,
    quantilesDDState(0.01, 0.5, 0.9, 0.95, 0.99)(toFloat64(greatest(event.latency_ms, 0))) AS latency_ms
FROM `tachograph`.decision_events_local AS event
WHERE provider != ''
GROUP BY tenant_id, hour, agent_id, provider, model;

CREATE MATERIALIZED VIEW IF NOT EXISTS `tachograph`.tool_minutes_feed ON CLUSTER `tachograph` TO `tachograph`.tool_minutes_local
DEFINER = CURRENT_USER SQL SECURITY DEFINER
AS SELECT
    tenant_id,
    toDateTime(intDiv(least(greatest(toUnixTimestamp64Micro(occurred_at), 0), 4294967295000000), 60000000) * 60, 'UTC') AS minute,
    agent_id,
    tool_name,
    count() AS calls,
    countIf(result_is_error OR isNotNull(error_type)) AS errors,
    countIf(skipped OR hook_action IN ('skip', 'abort')) AS stopped,
    countIf(NOT complete) AS incomplete,
    countIf(isNotNull(duration_ms)) AS timed,
    quantilesDDState(0.01, 0.5, 0.9, 0.95, 0.99)(toFloat64(greatest(duration_ms, 0))) AS latency_ms
FROM `tachograph`.tool_calls_local
WHERE leg = 'call'
GROUP BY tenant_id, minute, agent_id, tool_name;

CREATE MATERIALIZED VIEW IF NOT EXISTS `tachograph`.tool_hours_feed ON CLUSTER `tachograph` TO `tachograph`.tool_hours_local
DEFINER = CURRENT_USER SQL SECURITY DEFINER
AS SELECT
    tenant_id,
    toDateTime(intDiv(least(greatest(toUnixTimestamp64Micro(occurred_at), 0), 4294967295000000), 3600000000) * 3600, 'UTC') AS hour,
    agent_id,
    tool_name,
    count() AS calls,
    countIf(result_is_error OR isNotNull(error_type)) AS errors,
    countIf(skipped OR hook_action IN ('skip', 'abort')) AS stopped,
    countIf(NOT complete) AS incomplete,
    countIf(isNotNull(duration_ms)) AS timed,
    quantilesDDState(0.01, 0.5, 0.9, 0.95, 0.99)(toFloat64(greatest(duration_ms, 0))) AS latency_ms
FROM `tachograph`.tool_calls_local
WHERE leg = 'call'
GROUP BY tenant_id, hour, agent_id, tool_name;

CREATE OR REPLACE VIEW `tachograph`.model_usage_by_minute ON CLUSTER `tachograph` AS
SELECT
    usage.tenant_id AS tenant_id,
    usage.minute AS minute,
    usage.agent_id AS agent_id,
    usage.provider AS provider,
    usage.model AS model,
    usage.calls AS calls,
    usage.errors AS errors,
    usage.without_usage AS without_usage,
    usage.input_tokens AS input_tokens,
    usage.output_tokens AS output_tokens,
    if(usage.timed = 0, NULL, usage.latency[1]) AS latency_p50_ms,
    if(usage.timed = 0, NULL, usage.latency[2]) AS latency_p90_ms,
    if(usage.timed = 0, NULL, usage.latency[3]) AS latency_p95_ms,
    if(usage.timed = 0, NULL, usage.latency[4]) AS latency_p99_ms,
    (toDecimal128(usage.input_tokens, 0) * price.input_usd + toDecimal128(usage.output_tokens, 0) * price.output_usd) / 1000000 AS cost_usd,
    if(isNull(cost_usd), usage.calls, 0) AS unpriced_calls
FROM
(
    SELECT
        tenant_id,
        minute,
        agent_id,
        provider,
        model,
        sum(rollup.calls) AS calls,
        sum(rollup.errors) AS errors,
        sum(rollup.without_usage) AS without_usage,
        sum(rollup.input_tokens) AS input_tokens,
        sum(rollup.output_tokens) AS output_tokens,
        sum(rollup.timed) AS timed,
        quantilesDDMerge(0.01, 0.5, 0.9, 0.95, 0.99)(rollup.latency_ms) AS latency
    FROM `tachograph`.model_minutes AS rollup
    GROUP BY tenant_id, minute, agent_id, provider, model
) AS usage
ASOF LEFT JOIN
(
    SELECT
        provider,
        model,
        effective_from,
        CAST(argMax(tuple(input_usd_per_mtok), loaded_at).1, 'Nullable(Decimal(38, 12))') AS input_usd,
        CAST(argMax(tuple(output_usd_per_mtok), loaded_at).1, 'Nullable(Decimal(38, 12))') AS output_usd
    FROM `tachograph`.model_prices
    GROUP BY provider, model, effective_from
) AS price ON price.provider = usage.provider AND price.model = usage.model AND price.effective_from <= usage.minute
COMMENT 'Model calls by minute: counts, latencies, tokens, and cost where the model has a price.';

CREATE OR REPLACE VIEW `tachograph`.model_usage_by_hour ON CLUSTER `tachograph` AS
SELECT
    usage.tenant_id AS tenant_id,
    usage.hour AS hour,
    usage.agent_id AS agent_id,
    usage.provider AS provider,
    usage.model AS model,
    usage.calls AS calls,
    usage.errors AS errors,
    usage.without_usage AS without_usage,
    usage.input_tokens AS input_tokens,
    usage.output_tokens AS output_tokens,
    if(usage.timed = 0, NULL, usage.latency[1]) AS latency_p50_ms,
    if(usage.timed = 0, NULL, usage.latency[2]) AS latency_p90_ms,
    if(usage.timed = 0, NULL, usage.latency[3]) AS latency_p95_ms,
    if(usage.timed = 0, NULL, usage.latency[4]) AS latency_p99_ms,
    (toDecimal128(usage.input_tokens, 0) * price.input_usd + toDecimal128(usage.output_tokens, 0) * price.output_usd) / 1000000 AS cost_usd,
    if(isNull(cost_usd), usage.calls, 0) AS unpriced_calls
FROM
(
    SELECT
        tenant_id,
        hour,
        agent_id,
        provider,
        model,
        sum(rollup.calls) AS calls,
        sum(rollup.errors) AS errors,
        sum(rollup.without_usage) AS without_usage,
        sum(rollup.input_tokens) AS input_tokens,
        sum(rollup.output_tokens) AS output_tokens,
        sum(rollup.timed) AS timed,
        quantilesDDMerge(0.01, 0.5, 0.9, 0.95, 0.99)(rollup.latency_ms) AS latency
    FROM `tachograph`.model_hours AS rollup
    GROUP BY tenant_id, hour, agent_id, provider, model
) AS usage
ASOF LEFT JOIN
(
    SELECT
        provider,
        model,
        effective_from,
        CAST(argMax(tuple(input_usd_per_mtok), loaded_at).1, 'Nullable(Decimal(38, 12))') AS input_usd,
        CAST(argMax(tuple(output_usd_per_mtok), loaded_at).1, 'Nullable(Decimal(38, 12))') AS output_usd
    FROM `tachograph`.model_prices
    GROUP BY provider, model, effective_from
) AS price ON price.provider = usage.provider AND price.model = usage.model AND price.effective_from <= usage.hour
COMMENT 'Model calls by hour: counts, latencies, tokens, and cost where the model has a price.';

CREATE OR REPLACE VIEW `tachograph`.tool_usage_by_minute ON CLUSTER `tachograph` AS
WITH quantilesDDMerge(0.01, 0.5, 0.9, 0.95, 0.99)(rollup.latency_ms) AS latency
SELECT
    tenant_id,
    minute,
    agent_id,
    tool_name,
    sum(rollup.calls) AS calls,
    sum(rollup.errors) AS errors,
    sum(rollup.stopped) AS stopped,
    sum(rollup.incomplete) AS incomplete,
    if(sum(rollup.timed) = 0, NULL, latency[1]) AS latency_p50_ms,
    if(sum(rollup.timed) = 0, NULL, latency[2]) AS latency_p90_ms,
    if(sum(rollup.timed) = 0, NULL, latency[3]) AS latency_p95_ms,
    if(sum(rollup.timed) = 0, NULL, latency[4]) AS latency_p99_ms
FROM `tachograph`.tool_minutes AS rollup
GROUP BY tenant_id, minute, agent_id, tool_name
COMMENT 'Tool calls by minute: counts and durations.';

CREATE OR REPLACE VIEW `tachograph`.tool_usage_by_hour ON CLUSTER `tachograph` AS
WITH quantilesDDMerge(0.01, 0.5, 0.9, 0.95, 0.99)(rollup.latency_ms) AS latency
SELECT
    tenant_id,
    hour,
    agent_id,
    tool_name,
    sum(rollup.calls) AS calls,
    sum(rollup.errors) AS errors,
    sum(rollup.stopped) AS stopped,
    sum(rollup.incomplete) AS incomplete,
    if(sum(rollup.timed) = 0, NULL, latency[1]) AS latency_p50_ms,
    if(sum(rollup.timed) = 0, NULL, latency[2]) AS latency_p90_ms,
    if(sum(rollup.timed) = 0, NULL, latency[3]) AS latency_p95_ms,
    if(sum(rollup.timed) = 0, NULL, latency[4]) AS latency_p99_ms
FROM `tachograph`.tool_hours AS rollup
GROUP BY tenant_id, hour, agent_id, tool_name
COMMENT 'Tool calls by hour: counts and durations.';

-- questions

CREATE OR REPLACE VIEW `tachograph`.decisions ON CLUSTER `tachograph` AS
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
FROM `tachograph`.decision_records AS record
COMMENT 'Sealed decisions, one row each, with their amounts, approvers, evidence and lineage.';

CREATE OR REPLACE VIEW `tachograph`.policy_rejections ON CLUSTER `tachograph` AS
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
FROM `tachograph`.decision_records AS record
ARRAY JOIN policy_decisions AS policy
WHERE record.status = 'REJECTED'
COMMENT 'Policy decisions of rejected records, one row for each of both.';

CREATE OR REPLACE VIEW `tachograph`.replay_health ON CLUSTER `tachograph` AS
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
FROM `tachograph`.replays AS replay
GROUP BY tenant_id, replayed_id
COMMENT 'How the latest replay of each record ended; of the run, where it has no record.';

CREATE OR REPLACE VIEW `tachograph`.otel_traces ON CLUSTER `tachograph` AS
SELECT
     
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
    FROM `tachograph`.runs AS run
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
        FROM `tachograph`.violations AS violation
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
    FROM `tachograph`.steps AS step
    UNION ALL
     
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
    FROM `tachograph`.decision_events AS event
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
    FROM `tachograph`.tool_calls AS call
    LEFT ANY JOIN
    (
        SELECT tenant_id, trace_id, run_id, step_id, span_id
        FROM `tachograph`.agent_steps
        WHERE span_id != ''
    ) AS step ON step.tenant_id = call.tenant_id AND step.trace_id = call.trace_id AND step.run_id = call.run_id AND step.step_id = ifNull(call.step_id, '')
    LEFT ANY JOIN
    (
        SELECT tenant_id, trace_id, run_id, tool_use_id, assumeNotNull(span_id) AS span_id
        FROM `tachograph`.tool_calls
        WHERE isNotNull(span_id) AND leg = 'call'
    ) AS caller ON caller.tenant_id = call.tenant_id AND caller.trace_id = call.trace_id AND caller.run_id = call.run_id AND caller.tool_use_id = ifNull(call.parent_tool_use_id, '')
    WHERE call.leg = 'call' AND isNotNull(call.span_id)
) AS span
COMMENT 'Runs, steps, events and tool calls as spans, in the columns of OpenTelemetry\'s ClickHouse exporter. No content.';

CREATE OR REPLACE VIEW `tachograph`.otel_traces_trace_id_ts ON CLUSTER `tachograph` AS
SELECT
    trace_id AS TraceId,
    toDateTime(min(occurred_at), 'UTC') AS Start,
    toDateTime(max(occurred_at), 'UTC') AS End
FROM `tachograph`.agent_runs
GROUP BY trace_id
COMMENT 'When each trace began and ended, for dashboards that look it up first.';

-- guards

ALTER TABLE `tachograph`.agent_runs_local ON CLUSTER `tachograph`
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(event_type),
            length(session_id),
            length(agent_version),
            length(environment),
            length(capture_mode),
            length(status),
            length(request_id),
            length(user_request_raw),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'type')), length(tupleElement(item, 'rule'))), constraints)),
            length(channel),
            ifNull(length(repo), 0),
            ifNull(length(branch), 0),
            ifNull(length(ticket_id), 0),
            ifNull(length(parent_run_id), 0),
            length(sdk),
            ifNull(length(error_type), 0),
            length(completeness),
            arrayMax(arrayMap(text -> length(text), missing)),
            arrayMax(arrayMap(text -> length(text), mapKeys(metadata))),
            arrayMax(arrayMap(text -> length(text), mapValues(metadata)))
        ),
    ADD COLUMN IF NOT EXISTS has_blocked_key Bool MATERIALIZED
        hasAny(
            metadata_keys,
            ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
        )
            OR arrayExists(
                value -> position(value, '{') > 0 AND hasAny(
                    arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), arrayConcat(
                        arrayMap(name -> JSONExtractString(concat('"', name, '"')), extractAll(value, '"((?:[^"\\\\]|\\\\.)*)"\\s*:')),
                        extractAll(replaceAll(value, '\\', ''), '["\']([^"\']*)["\']\\s*:')
                    )),
                    ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
                ),
                mapValues(metadata)
            )
        COMMENT 'Whether metadata has a blocked key, in its values too.',
    ADD CONSTRAINT IF NOT EXISTS metadata_has_no_blocked_key_at_any_depth CHECK NOT has_blocked_key,
    DROP CONSTRAINT IF EXISTS metadata_has_no_blocked_key;

ALTER TABLE `tachograph`.agent_steps_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(event_type),
            length(step_id),
            ifNull(length(parent_step_id), 0),
            length(span_id),
            ifNull(length(parent_span_id), 0),
            length(step_type),
            length(name),
            length(status),
            ifNull(length(error_type), 0),
            arrayMax(arrayMap(text -> length(text), mapKeys(metadata))),
            arrayMax(arrayMap(text -> length(text), mapValues(metadata)))
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536,
    ADD COLUMN IF NOT EXISTS has_blocked_key Bool MATERIALIZED
        hasAny(
            metadata_keys,
            ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
        )
            OR arrayExists(
                value -> position(value, '{') > 0 AND hasAny(
                    arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), arrayConcat(
                        arrayMap(name -> JSONExtractString(concat('"', name, '"')), extractAll(value, '"((?:[^"\\\\]|\\\\.)*)"\\s*:')),
                        extractAll(replaceAll(value, '\\', ''), '["\']([^"\']*)["\']\\s*:')
                    )),
                    ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
                ),
                mapValues(metadata)
            )
        COMMENT 'Whether metadata has a blocked key, in its values too.',
    ADD CONSTRAINT IF NOT EXISTS metadata_has_no_blocked_key_at_any_depth CHECK NOT has_blocked_key,
    DROP CONSTRAINT IF EXISTS metadata_has_no_blocked_key;

ALTER TABLE `tachograph`.agent_failures_local ON CLUSTER `tachograph`
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(failure_id),
            length(kind),
            ifNull(length(step_id), 0),
            ifNull(length(span_id), 0),
            length(error_type),
            length(message),
            length(trigger),
            ifNull(length(tool_use_id), 0),
            arrayMax(arrayMap(text -> length(text), snapshot_artifact_ids)),
            arrayMax(arrayMap(text -> length(text), capture_ids)),
            ifNull(length(missing_pointer), 0),
            length(drop_reason),
            arrayMax(arrayMap(text -> length(text), dropped_types)),
            arrayMax(arrayMap(text -> length(text), mapKeys(metadata))),
            arrayMax(arrayMap(text -> length(text), mapValues(metadata)))
        ),
    ADD COLUMN IF NOT EXISTS has_blocked_key Bool MATERIALIZED
        hasAny(
            metadata_keys,
            ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
        )
            OR arrayExists(
                value -> position(value, '{') > 0 AND hasAny(
                    arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), arrayConcat(
                        arrayMap(name -> JSONExtractString(concat('"', name, '"')), extractAll(value, '"((?:[^"\\\\]|\\\\.)*)"\\s*:')),
                        extractAll(replaceAll(value, '\\', ''), '["\']([^"\']*)["\']\\s*:')
                    )),
                    ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
                ),
                mapValues(metadata)
            )
        COMMENT 'Whether metadata has a blocked key, in its values too.',
    ADD CONSTRAINT IF NOT EXISTS metadata_has_no_blocked_key_at_any_depth CHECK NOT has_blocked_key,
    DROP CONSTRAINT IF EXISTS metadata_has_no_blocked_key;

ALTER TABLE `tachograph`.agent_decisions_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(decision_id),
            ifNull(length(step_id), 0),
            length(decision_type),
            length(selected),
            length(reason_code),
            arrayMax(arrayMap(text -> length(text), candidates)),
            arrayMax(arrayMap(text -> length(text), mapKeys(metadata))),
            arrayMax(arrayMap(text -> length(text), mapValues(metadata)))
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536,
    ADD COLUMN IF NOT EXISTS has_blocked_key Bool MATERIALIZED
        hasAny(
            metadata_keys,
            ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
        )
            OR arrayExists(
                value -> position(value, '{') > 0 AND hasAny(
                    arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), arrayConcat(
                        arrayMap(name -> JSONExtractString(concat('"', name, '"')), extractAll(value, '"((?:[^"\\\\]|\\\\.)*)"\\s*:')),
                        extractAll(replaceAll(value, '\\', ''), '["\']([^"\']*)["\']\\s*:')
                    )),
                    ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
                ),
                mapValues(metadata)
            )
        COMMENT 'Whether metadata has a blocked key, in its values too.',
    ADD CONSTRAINT IF NOT EXISTS metadata_has_no_blocked_key_at_any_depth CHECK NOT has_blocked_key,
    DROP CONSTRAINT IF EXISTS metadata_has_no_blocked_key;

ALTER TABLE `tachograph`.agent_quality_signals_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(signal_id),
            ifNull(length(step_id), 0),
            length(signal_type),
            length(signal_code),
            arrayMax(arrayMap(text -> length(text), mapKeys(metadata))),
            arrayMax(arrayMap(text -> length(text), mapValues(metadata)))
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536,
    ADD COLUMN IF NOT EXISTS has_blocked_key Bool MATERIALIZED
        hasAny(
            metadata_keys,
            ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
        )
            OR arrayExists(
                value -> position(value, '{') > 0 AND hasAny(
                    arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), arrayConcat(
                        arrayMap(name -> JSONExtractString(concat('"', name, '"')), extractAll(value, '"((?:[^"\\\\]|\\\\.)*)"\\s*:')),
                        extractAll(replaceAll(value, '\\', ''), '["\']([^"\']*)["\']\\s*:')
                    )),
                    ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
                ),
                mapValues(metadata)
            )
        COMMENT 'Whether metadata has a blocked key, in its values too.',
    ADD CONSTRAINT IF NOT EXISTS metadata_has_no_blocked_key_at_any_depth CHECK NOT has_blocked_key,
    DROP CONSTRAINT IF EXISTS metadata_has_no_blocked_key;

ALTER TABLE `tachograph`.decision_events_local ON CLUSTER `tachograph`
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(schema_version),
            length(span_id),
            ifNull(length(parent_span_id), 0),
            ifNull(length(step_id), 0),
            length(session_id),
            length(agent_version),
            length(environment),
            length(request_id),
            length(user_request_raw),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'type')), length(tupleElement(item, 'rule'))), constraints)),
            length(channel),
            ifNull(length(repo), 0),
            ifNull(length(branch), 0),
            ifNull(length(ticket_id), 0),
            length(provider),
            length(model),
            length(capture_mode),
            length(prompt_bundle_hash),
            ifNull(length(sent_hash), 0),
            ifNull(length(bundle_artifact_id), 0),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'role')), length(tupleElement(item, 'content'))), messages)),
            arrayMax(arrayMap(text -> length(text), retrieval_sources)),
            ifNull(length(retrieval_snippets), 0),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'name')), ifNull(length(tupleElement(item, 'description')), 0), ifNull(length(tupleElement(item, 'schema')), 0)), tools)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'type')), length(tupleElement(item, 'summary'))), transformations)),
            ifNull(length(completion_id), 0),
            ifNull(length(output_raw), 0),
            ifNull(length(output_artifact_id), 0),
            ifNull(length(output_structured), 0),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'tool_call_id')), length(tupleElement(item, 'name')), length(tupleElement(item, 'arguments'))), tool_calls)),
            length(action_type),
            length(action_summary),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'type')), length(tupleElement(item, 'id')), length(tupleElement(item, 'summary')), ifNull(length(tupleElement(item, 'content')), 0), ifNull(length(tupleElement(item, 'content_ref')), 0), length(tupleElement(item, 'hash')), ifNull(length(tupleElement(item, 'path')), 0)), artifacts)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'tool_call_id')), length(tupleElement(item, 'name')), ifNull(length(tupleElement(item, 'output')), 0), ifNull(length(tupleElement(item, 'output_artifact_id')), 0)), tool_results)),
            length(alignment_status),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'severity')), length(tupleElement(item, 'message')), ifNull(length(tupleElement(item, 'evidence')), 0)), alignment_violations)),
            length(quality_status),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'status')), length(tupleElement(item, 'message'))), quality_checks)),
            length(policy_status),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'status')), length(tupleElement(item, 'message'))), policy_checks)),
            ifNull(length(overrides_event_id), 0)
        );

ALTER TABLE `tachograph`.evaluations_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            ifNull(length(step_id), 0),
            length(action_type),
            length(capture_mode),
            length(alignment_status),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'status')), length(tupleElement(item, 'message')), ifNull(length(tupleElement(item, 'constraint_id')), 0)), alignment_checks)),
            length(quality_status),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'status')), length(tupleElement(item, 'message')), ifNull(length(tupleElement(item, 'constraint_id')), 0)), quality_checks)),
            length(policy_status),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'status')), length(tupleElement(item, 'message')), ifNull(length(tupleElement(item, 'constraint_id')), 0)), policy_checks)),
            length(rules)
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536;

ALTER TABLE `tachograph`.tool_calls_local ON CLUSTER `tachograph`
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(tool_use_id),
            length(tool_name),
            length(leg),
            ifNull(length(span_id), 0),
            ifNull(length(step_id), 0),
            ifNull(length(task_id), 0),
            ifNull(length(parent_tool_use_id), 0),
            length(phase),
            length(capture_mode),
            ifNull(length(tool_input), 0),
            ifNull(length(input_artifact_id), 0),
            ifNull(length(output), 0),
            ifNull(length(output_artifact_id), 0),
            ifNull(length(error_type), 0),
            ifNull(length(error), 0),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'hook')), length(tupleElement(item, 'stage')), length(tupleElement(item, 'action')), length(tupleElement(item, 'reason')), ifNull(length(tupleElement(item, 'error_type')), 0)), hooks)),
            arrayMax(arrayMap(text -> length(text), mapKeys(metadata))),
            arrayMax(arrayMap(text -> length(text), mapValues(metadata))),
            arrayMax(arrayMap(text -> length(text), event_ids)),
            ifNull(length(requested_event_id), 0),
            ifNull(length(arguments), 0),
            arrayMax(arrayMap(text -> length(text), attribution)),
            length(hook_action),
            arrayMax(arrayMap(text -> length(text), missing)),
            length(closed_by)
        ),
    ADD COLUMN IF NOT EXISTS has_blocked_key Bool MATERIALIZED
        hasAny(
            metadata_keys,
            ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
        )
            OR arrayExists(
                value -> position(value, '{') > 0 AND hasAny(
                    arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), arrayConcat(
                        arrayMap(name -> JSONExtractString(concat('"', name, '"')), extractAll(value, '"((?:[^"\\\\]|\\\\.)*)"\\s*:')),
                        extractAll(replaceAll(value, '\\', ''), '["\']([^"\']*)["\']\\s*:')
                    )),
                    ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
                ),
                mapValues(metadata)
            )
        COMMENT 'Whether metadata has a blocked key, in its values too.',
    ADD CONSTRAINT IF NOT EXISTS metadata_has_no_blocked_key_at_any_depth CHECK NOT has_blocked_key,
    DROP CONSTRAINT IF EXISTS metadata_has_no_blocked_key;

ALTER TABLE `tachograph`.context_manifests_local ON CLUSTER `tachograph`
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(manifest_id),
            length(step_id),
            length(snapshot_id),
            length(intent),
            ifNull(length(retrieval_query), 0),
            arrayMax(arrayMap(text -> length(text), candidate_chunk_ids)),
            arrayMax(arrayMap(text -> length(text), selected_chunk_ids)),
            ifNull(length(reranker_model), 0),
            ifNull(length(reranker_version), 0),
            length(compiler_version),
            length(prefix_hash),
            ifNull(length(prompt_snapshot_artifact_id), 0),
            arrayMax(arrayMap(text -> length(text), tool_output_snapshot_artifact_ids)),
            arrayMax(arrayMap(text -> length(text), mapKeys(metadata))),
            arrayMax(arrayMap(text -> length(text), mapValues(metadata)))
        ),
    ADD COLUMN IF NOT EXISTS has_blocked_key Bool MATERIALIZED
        hasAny(
            metadata_keys,
            ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
        )
            OR arrayExists(
                value -> position(value, '{') > 0 AND hasAny(
                    arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), arrayConcat(
                        arrayMap(name -> JSONExtractString(concat('"', name, '"')), extractAll(value, '"((?:[^"\\\\]|\\\\.)*)"\\s*:')),
                        extractAll(replaceAll(value, '\\', ''), '["\']([^"\']*)["\']\\s*:')
                    )),
                    ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
                ),
                mapValues(metadata)
            )
        COMMENT 'Whether metadata has a blocked key, in its values too.',
    ADD CONSTRAINT IF NOT EXISTS metadata_has_no_blocked_key_at_any_depth CHECK NOT has_blocked_key,
    DROP CONSTRAINT IF EXISTS metadata_has_no_blocked_key;

ALTER TABLE `tachograph`.context_items_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(manifest_id),
            length(step_id),
            length(item_id),
            length(item_type),
            ifNull(length(source_ref), 0),
            length(reason),
            ifNull(length(hash), 0)
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536;

ALTER TABLE `tachograph`.snapshots_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(snapshot_id),
            length(trace_id),
            length(run_id),
            ifNull(length(step_id), 0),
            ifNull(length(event_id), 0),
            ifNull(length(tool_use_id), 0),
            length(kind),
            length(trigger),
            ifNull(length(artifact_id), 0),
            ifNull(length(path), 0),
            ifNull(length(hash), 0),
            length(retention)
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536;

ALTER TABLE `tachograph`.record_proposals_local ON CLUSTER `tachograph`
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(record_id),
            length(decision_key),
            length(decision_version),
            length(status),
            length(actor_type),
            length(actor_id),
            ifNull(length(workload_identity), 0),
            ifNull(length(delegated_user_id), 0),
            ifNull(length(intent_ref), 0),
            arrayMax(arrayMap(text -> length(text), subject_ids)),
            length(input_request),
            length(input_session),
            arrayMax(arrayMap(text -> length(text), input_attachments)),
            length(outputs),
            arrayMax(arrayMap(text -> length(text), evidence_refs)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'policy_decision_id')), length(tupleElement(item, 'bundle_id')), ifNull(length(tupleElement(item, 'bundle_version')), 0), arrayMax(arrayMap(text -> length(text), tupleElement(item, 'rule_ids'))), length(tupleElement(item, 'verdict'))), policy_decisions)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'gate_id')), length(tupleElement(item, 'approver')), length(tupleElement(item, 'approval_mode_effective')), length(tupleElement(item, 'evidence_snapshot_hash'))), approvals)),
            arrayMax(arrayMap(text -> length(text), must_refuse)),
            arrayMax(arrayMap(text -> length(text), must_escalate)),
            arrayMax(arrayMap(text -> length(text), approval_gates_active)),
            arrayMax(arrayMap(text -> length(text), redaction_rules_active)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'tool_call_id')), length(tupleElement(item, 'tool_result_id')), length(tupleElement(item, 'approval_mode_effective')), ifNull(length(tupleElement(item, 'idempotency_key')), 0), ifNull(length(tupleElement(item, 'reversal_token')), 0)), tool_lineage)),
            ifNull(length(score_policy), 0),
            ifNull(length(score_utility), 0),
            ifNull(length(score_latency), 0),
            ifNull(length(score_safety), 0),
            ifNull(length(score_cost), 0),
            ifNull(length(budget_cost_usd_cents), 0),
            length(pack_version),
            arrayMax(arrayMap(text -> length(text), policy_versions)),
            length(decision_spec),
            length(kg_snapshot),
            length(model_profile),
            length(evaluator_suite),
            ifNull(length(replay_packet_id), 0),
            ifNull(length(compiled_context_hash), 0),
            ifNull(length(tool_transcript_chain_hash), 0),
            length(replay_last_status),
            ifNull(length(supersedes), 0),
            ifNull(length(incident_id), 0)
        );

ALTER TABLE `tachograph`.decision_records_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(record_id),
            length(decision_key),
            length(decision_version),
            length(status),
            length(actor_type),
            length(actor_id),
            ifNull(length(workload_identity), 0),
            ifNull(length(delegated_user_id), 0),
            ifNull(length(intent_ref), 0),
            arrayMax(arrayMap(text -> length(text), subject_ids)),
            length(input_request),
            length(input_session),
            arrayMax(arrayMap(text -> length(text), input_attachments)),
            length(outputs),
            arrayMax(arrayMap(text -> length(text), evidence_refs)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'policy_decision_id')), length(tupleElement(item, 'bundle_id')), ifNull(length(tupleElement(item, 'bundle_version')), 0), arrayMax(arrayMap(text -> length(text), tupleElement(item, 'rule_ids'))), length(tupleElement(item, 'verdict'))), policy_decisions)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'gate_id')), length(tupleElement(item, 'approver')), length(tupleElement(item, 'approval_mode_effective')), length(tupleElement(item, 'evidence_snapshot_hash'))), approvals)),
            arrayMax(arrayMap(text -> length(text), must_refuse)),
            arrayMax(arrayMap(text -> length(text), must_escalate)),
            arrayMax(arrayMap(text -> length(text), approval_gates_active)),
            arrayMax(arrayMap(text -> length(text), redaction_rules_active)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'tool_call_id')), length(tupleElement(item, 'tool_result_id')), length(tupleElement(item, 'approval_mode_effective')), ifNull(length(tupleElement(item, 'idempotency_key')), 0), ifNull(length(tupleElement(item, 'reversal_token')), 0)), tool_lineage)),
            ifNull(length(score_policy), 0),
            ifNull(length(score_utility), 0),
            ifNull(length(score_latency), 0),
            ifNull(length(score_safety), 0),
            ifNull(length(score_cost), 0),
            ifNull(length(budget_cost_usd_cents), 0),
            length(pack_version),
            arrayMax(arrayMap(text -> length(text), policy_versions)),
            length(decision_spec),
            length(kg_snapshot),
            length(model_profile),
            length(evaluator_suite),
            ifNull(length(replay_packet_id), 0),
            ifNull(length(compiled_context_hash), 0),
            ifNull(length(tool_transcript_chain_hash), 0),
            length(replay_last_status),
            ifNull(length(supersedes), 0),
            ifNull(length(incident_id), 0),
            length(proposed_status),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'rule')), length(tupleElement(item, 'code')), length(tupleElement(item, 'message'))), verdicts)),
            length(retention),
            length(log_id),
            length(prev_hash),
            length(record_hash),
            length(signed_by),
            length(signature)
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536;

ALTER TABLE `tachograph`.violations_local ON CLUSTER `tachograph`
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(violation_id),
            length(kind),
            length(code),
            length(severity),
            length(message),
            ifNull(length(evidence), 0),
            ifNull(length(constraint_id), 0),
            length(verdict),
            length(action),
            length(trace_id),
            length(run_id),
            ifNull(length(event_id), 0),
            ifNull(length(step_id), 0),
            ifNull(length(tool_use_id), 0),
            arrayMax(arrayMap(text -> length(text), sample_event_ids))
        );

ALTER TABLE `tachograph`.checkpoints_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(log_id),
            length(root_hash),
            length(head_hash),
            length(note),
            length(signed_by),
            ifNull(length(anchor), 0)
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536;

ALTER TABLE `tachograph`.replays_local ON CLUSTER `tachograph`
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(replay_id),
            length(trace_id),
            length(run_id),
            length(record_id),
            length(decision_key),
            length(decision_spec),
            length(pack_version),
            arrayMax(arrayMap(text -> length(text), policy_versions)),
            length(outcome),
            length(diffs),
            length(replayed_by)
        );

ALTER TABLE `tachograph`.dead_letters_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(dead_letter_id),
            length(source_topic),
            length(stage),
            length(component),
            length(error_type),
            length(error),
            length(value_sha256)
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536;

ALTER TABLE `tachograph`.agent_decisions_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS recorded_at DateTime64(6, 'UTC') ALIAS occurred_at COMMENT 'When it was recorded: occurred_at by another name.',
    ADD COLUMN IF NOT EXISTS created_at DateTime64(3, 'UTC') ALIAS _ingested_at COMMENT 'When ClickHouse took the row: _ingested_at by another name.',
    ADD COLUMN IF NOT EXISTS code_characters UInt64 MATERIALIZED greatest(lengthUTF8(decision_type), lengthUTF8(reason_code)) COMMENT 'Length of the longest code in the row.',
    ADD COLUMN IF NOT EXISTS selected_characters UInt64 MATERIALIZED lengthUTF8(selected) COMMENT 'Length of the option chosen.',
    ADD CONSTRAINT IF NOT EXISTS codes_have_at_most_100_characters CHECK code_characters <= 100,
    ADD CONSTRAINT IF NOT EXISTS selected_has_1_to_200_characters CHECK selected_characters BETWEEN 1 AND 200,
    ADD CONSTRAINT IF NOT EXISTS confidence_is_between_0_and_1 CHECK ifNull(confidence, 0) BETWEEN 0 AND 1,
    ADD INDEX IF NOT EXISTS step_id_bloom step_id TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS decision_type_set decision_type TYPE set(100) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS reason_code_set reason_code TYPE set(100) GRANULARITY 1;

ALTER TABLE `tachograph`.agent_quality_signals_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS recorded_at DateTime64(6, 'UTC') ALIAS occurred_at COMMENT 'When it was recorded: occurred_at by another name.',
    ADD COLUMN IF NOT EXISTS created_at DateTime64(3, 'UTC') ALIAS _ingested_at COMMENT 'When ClickHouse took the row: _ingested_at by another name.',
    ADD COLUMN IF NOT EXISTS code_characters UInt64 MATERIALIZED greatest(lengthUTF8(signal_type), lengthUTF8(signal_code)) COMMENT 'Length of the longest code in the row.',
    ADD CONSTRAINT IF NOT EXISTS codes_have_at_most_100_characters CHECK code_characters <= 100,
    ADD CONSTRAINT IF NOT EXISTS weight_is_between_0_and_1 CHECK ifNull(weight, 0) BETWEEN 0 AND 1,
    ADD INDEX IF NOT EXISTS step_id_bloom step_id TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS signal_type_set signal_type TYPE set(100) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS signal_code_set signal_code TYPE set(100) GRANULARITY 1;

ALTER TABLE `tachograph`.decision_records_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS approvers Array(String) MATERIALIZED arrayDistinct(arrayMap(item -> tupleElement(item, 'approver'), approvals)) COMMENT 'Who opened a gate.',
    ADD COLUMN IF NOT EXISTS approval_modes Array(LowCardinality(String)) MATERIALIZED
        arrayDistinct(arrayConcat(
            arrayMap(item -> tupleElement(item, 'approval_mode_effective'), approvals),
            arrayMap(item -> tupleElement(item, 'approval_mode_effective'), tool_lineage)
        ))
        COMMENT 'Approval modes that were in effect, of gates and of side effects.',
    ADD COLUMN IF NOT EXISTS policy_decision_ids Array(String) MATERIALIZED arrayDistinct(arrayMap(item -> tupleElement(item, 'policy_decision_id'), policy_decisions)) COMMENT 'Policy decisions behind the record.',
    ADD INDEX IF NOT EXISTS status_set status TYPE set(10) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS subject_ids_bloom subject_ids TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS approvers_bloom approvers TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS approval_modes_bloom approval_modes TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS policy_decision_ids_bloom policy_decision_ids TYPE bloom_filter(0.01) GRANULARITY 1;

CREATE OR REPLACE TABLE `tachograph`.agent_runs ON CLUSTER `tachograph` AS `tachograph`.agent_runs_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_runs_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.agent_steps ON CLUSTER `tachograph` AS `tachograph`.agent_steps_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_steps_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.agent_failures ON CLUSTER `tachograph` AS `tachograph`.agent_failures_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_failures_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.agent_decisions ON CLUSTER `tachograph` AS `tachograph`.agent_decisions_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_decisions_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.agent_quality_signals ON CLUSTER `tachograph` AS `tachograph`.agent_quality_signals_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_quality_signals_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.decision_events ON CLUSTER `tachograph` AS `tachograph`.decision_events_local
ENGINE = Distributed(`tachograph`, `tachograph`, decision_events_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.evaluations ON CLUSTER `tachograph` AS `tachograph`.evaluations_local
ENGINE = Distributed(`tachograph`, `tachograph`, evaluations_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.tool_calls ON CLUSTER `tachograph` AS `tachograph`.tool_calls_local
ENGINE = Distributed(`tachograph`, `tachograph`, tool_calls_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.context_manifests ON CLUSTER `tachograph` AS `tachograph`.context_manifests_local
ENGINE = Distributed(`tachograph`, `tachograph`, context_manifests_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.context_items ON CLUSTER `tachograph` AS `tachograph`.context_items_local
ENGINE = Distributed(`tachograph`, `tachograph`, context_items_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.snapshots ON CLUSTER `tachograph` AS `tachograph`.snapshots_local
ENGINE = Distributed(`tachograph`, `tachograph`, snapshots_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.record_proposals ON CLUSTER `tachograph` AS `tachograph`.record_proposals_local
ENGINE = Distributed(`tachograph`, `tachograph`, record_proposals_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.decision_records ON CLUSTER `tachograph` AS `tachograph`.decision_records_local
ENGINE = Distributed(`tachograph`, `tachograph`, decision_records_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.violations ON CLUSTER `tachograph` AS `tachograph`.violations_local
ENGINE = Distributed(`tachograph`, `tachograph`, violations_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.checkpoints ON CLUSTER `tachograph` AS `tachograph`.checkpoints_local
ENGINE = Distributed(`tachograph`, `tachograph`, checkpoints_local, cityHash64(tenant_id, log_id));

CREATE OR REPLACE TABLE `tachograph`.replays ON CLUSTER `tachograph` AS `tachograph`.replays_local
ENGINE = Distributed(`tachograph`, `tachograph`, replays_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.dead_letters ON CLUSTER `tachograph` AS `tachograph`.dead_letters_local
ENGINE = Distributed(`tachograph`, `tachograph`, dead_letters_local, cityHash64(tenant_id, source_topic, source_partition));

-- retention

CREATE TABLE IF NOT EXISTS `tachograph`.kept_runs ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    run_id String COMMENT 'Run that is kept.' CODEC(ZSTD(1)),
    reason LowCardinality(String) COMMENT 'destructive, denied, escalated, failed_scorecard or incident.',
    source_id String COMMENT 'Record, tool call or incident that is the reason.' CODEC(ZSTD(1)),
    kept_by LowCardinality(String) COMMENT 'stream, or the person who said so.',
    kept_since DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'Since when.'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/all/tachograph/kept_runs', '{shard}-{replica}')
ORDER BY (tenant_id, run_id, reason, source_id)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Runs whose rows are kept for good, and why.';

CREATE MATERIALIZED VIEW IF NOT EXISTS `tachograph`.kept_runs_from_records ON CLUSTER `tachograph` TO `tachograph`.kept_runs
DEFINER = CURRENT_USER SQL SECURITY DEFINER
AS WITH
    has(arrayMap(item -> toString(item.approval_mode_effective), approvals), 'destructive')
        OR has(arrayMap(item -> toString(item.approval_mode_effective), tool_lineage), 'destructive') AS is_destructive,
    status = 'REJECTED' OR arrayExists(item -> item.verdict = 'deny', policy_decisions) AS is_denied,
    status = 'ESCALATED' AS is_escalated,
    ifNull(incident_id, '') != '' AS is_incident
SELECT
    tenant_id,
    run_id,
    arrayJoin(arrayConcat(
        if(is_destructive, ['destructive'], []),
        if(is_denied, ['denied'], []),
        if(is_escalated, ['escalated'], []),
        if(is_incident, ['incident'], []),
        if(is_destructive OR is_denied OR is_escalated OR is_incident, [], ['failed_scorecard'])
    )) AS reason,
    record_id AS source_id,
    'stream' AS kept_by,
    now64(3) AS kept_since
FROM `tachograph`.decision_records_local
WHERE retention = 'protected' AND run_id != '';

CREATE MATERIALIZED VIEW IF NOT EXISTS `tachograph`.kept_runs_from_hooks ON CLUSTER `tachograph` TO `tachograph`.kept_runs
DEFINER = CURRENT_USER SQL SECURITY DEFINER
AS SELECT
    tenant_id,
    run_id,
    'denied' AS reason,
    tool_use_id AS source_id,
    'stream' AS kept_by,
    now64(3) AS kept_since
FROM `tachograph`.tool_calls_local
WHERE hook_action = 'abort' AND run_id != '';

INSERT INTO `tachograph`.kept_runs (tenant_id, run_id, reason, source_id, kept_by, kept_since)
WITH
    has(arrayMap(item -> toString(item.approval_mode_effective), approvals), 'destructive')
        OR has(arrayMap(item -> toString(item.approval_mode_effective), tool_lineage), 'destructive') AS is_destructive,
    status = 'REJECTED' OR arrayExists(item -> item.verdict = 'deny', policy_decisions) AS is_denied,
    status = 'ESCALATED' AS is_escalated,
    ifNull(incident_id, '') != '' AS is_incident
SELECT
    tenant_id,
    run_id,
    arrayJoin(arrayConcat(
        if(is_destructive, ['destructive'], []),
        if(is_denied, ['denied'], []),
        if(is_escalated, ['escalated'], []),
        if(is_incident, ['incident'], []),
        if(is_destructive OR is_denied OR is_escalated OR is_incident, [], ['failed_scorecard'])
    )) AS reason,
    record_id AS source_id,
    'stream' AS kept_by,
    now64(3) AS kept_since
FROM `tachograph`.decision_records
WHERE retention = 'protected' AND run_id != '';

INSERT INTO `tachograph`.kept_runs (tenant_id, run_id, reason, source_id, kept_by, kept_since)
SELECT
    tenant_id,
    run_id,
    'denied' AS reason,
    tool_use_id AS source_id,
    'stream' AS kept_by,
    now64(3) AS kept_since
FROM `tachograph`.tool_calls
WHERE hook_action = 'abort' AND run_id != '';

ALTER TABLE `tachograph`.agent_runs_local ON CLUSTER `tachograph` ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE `tachograph`.agent_runs_local ON CLUSTER `tachograph` MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE `tachograph`.agent_runs_local ON CLUSTER `tachograph` MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE `tachograph`.agent_steps_local ON CLUSTER `tachograph` ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE `tachograph`.agent_steps_local ON CLUSTER `tachograph` MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE `tachograph`.agent_steps_local ON CLUSTER `tachograph` MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE `tachograph`.agent_failures_local ON CLUSTER `tachograph` ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE `tachograph`.agent_failures_local ON CLUSTER `tachograph` MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE `tachograph`.agent_failures_local ON CLUSTER `tachograph` MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE `tachograph`.agent_decisions_local ON CLUSTER `tachograph` ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE `tachograph`.agent_decisions_local ON CLUSTER `tachograph` MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE `tachograph`.agent_decisions_local ON CLUSTER `tachograph` MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE `tachograph`.agent_quality_signals_local ON CLUSTER `tachograph` ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE `tachograph`.agent_quality_signals_local ON CLUSTER `tachograph` MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE `tachograph`.agent_quality_signals_local ON CLUSTER `tachograph` MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE `tachograph`.decision_events_local ON CLUSTER `tachograph` ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE `tachograph`.decision_events_local ON CLUSTER `tachograph` MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE `tachograph`.decision_events_local ON CLUSTER `tachograph` MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE `tachograph`.evaluations_local ON CLUSTER `tachograph` ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE `tachograph`.evaluations_local ON CLUSTER `tachograph` MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE `tachograph`.evaluations_local ON CLUSTER `tachograph` MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE `tachograph`.tool_calls_local ON CLUSTER `tachograph` ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE `tachograph`.tool_calls_local ON CLUSTER `tachograph` MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE `tachograph`.tool_calls_local ON CLUSTER `tachograph` MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE `tachograph`.record_proposals_local ON CLUSTER `tachograph` ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE `tachograph`.record_proposals_local ON CLUSTER `tachograph` MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE `tachograph`.record_proposals_local ON CLUSTER `tachograph` MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE `tachograph`.context_manifests_local ON CLUSTER `tachograph` ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE `tachograph`.context_manifests_local ON CLUSTER `tachograph` MODIFY TTL toDateTime(_ingested_at) + INTERVAL 90 DAY DELETE WHERE NOT _kept;

ALTER TABLE `tachograph`.context_manifests_local ON CLUSTER `tachograph` MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE `tachograph`.context_items_local ON CLUSTER `tachograph` ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE `tachograph`.context_items_local ON CLUSTER `tachograph` MODIFY TTL toDateTime(_ingested_at) + INTERVAL 90 DAY DELETE WHERE NOT _kept;

ALTER TABLE `tachograph`.context_items_local ON CLUSTER `tachograph` MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE `tachograph`.snapshots_local ON CLUSTER `tachograph` ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE `tachograph`.snapshots_local ON CLUSTER `tachograph` MODIFY TTL toDateTime(_ingested_at) + INTERVAL 90 DAY DELETE WHERE NOT _kept AND retention != 'protected';

ALTER TABLE `tachograph`.snapshots_local ON CLUSTER `tachograph` MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE `tachograph`.violations_local ON CLUSTER `tachograph` ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE `tachograph`.violations_local ON CLUSTER `tachograph` MODIFY TTL toDateTime(_ingested_at) + INTERVAL 730 DAY DELETE WHERE NOT _kept;

ALTER TABLE `tachograph`.violations_local ON CLUSTER `tachograph` MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE `tachograph`.replays_local ON CLUSTER `tachograph` ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE `tachograph`.replays_local ON CLUSTER `tachograph` MODIFY TTL toDateTime(_ingested_at) + INTERVAL 730 DAY DELETE WHERE NOT _kept;

ALTER TABLE `tachograph`.replays_local ON CLUSTER `tachograph` MODIFY SETTING merge_with_ttl_timeout = 86400;

CREATE OR REPLACE TABLE `tachograph`.agent_runs ON CLUSTER `tachograph` AS `tachograph`.agent_runs_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_runs_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.agent_steps ON CLUSTER `tachograph` AS `tachograph`.agent_steps_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_steps_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.agent_failures ON CLUSTER `tachograph` AS `tachograph`.agent_failures_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_failures_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.agent_decisions ON CLUSTER `tachograph` AS `tachograph`.agent_decisions_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_decisions_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.agent_quality_signals ON CLUSTER `tachograph` AS `tachograph`.agent_quality_signals_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_quality_signals_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.decision_events ON CLUSTER `tachograph` AS `tachograph`.decision_events_local
ENGINE = Distributed(`tachograph`, `tachograph`, decision_events_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.evaluations ON CLUSTER `tachograph` AS `tachograph`.evaluations_local
ENGINE = Distributed(`tachograph`, `tachograph`, evaluations_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.tool_calls ON CLUSTER `tachograph` AS `tachograph`.tool_calls_local
ENGINE = Distributed(`tachograph`, `tachograph`, tool_calls_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.record_proposals ON CLUSTER `tachograph` AS `tachograph`.record_proposals_local
ENGINE = Distributed(`tachograph`, `tachograph`, record_proposals_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.context_manifests ON CLUSTER `tachograph` AS `tachograph`.context_manifests_local
ENGINE = Distributed(`tachograph`, `tachograph`, context_manifests_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.context_items ON CLUSTER `tachograph` AS `tachograph`.context_items_local
ENGINE = Distributed(`tachograph`, `tachograph`, context_items_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.snapshots ON CLUSTER `tachograph` AS `tachograph`.snapshots_local
ENGINE = Distributed(`tachograph`, `tachograph`, snapshots_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.violations ON CLUSTER `tachograph` AS `tachograph`.violations_local
ENGINE = Distributed(`tachograph`, `tachograph`, violations_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.replays ON CLUSTER `tachograph` AS `tachograph`.replays_local
ENGINE = Distributed(`tachograph`, `tachograph`, replays_local, cityHash64(tenant_id, trace_id));

-- slo_counts

ALTER TABLE `tachograph`.agent_runs_local ON CLUSTER `tachograph` MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';

ALTER TABLE `tachograph`.agent_runs_local ON CLUSTER `tachograph` ADD PROJECTION IF NOT EXISTS slo_minutes
(
    SELECT tenant_id, toStartOfMinute(occurred_at), completeness, count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfMinute(occurred_at), completeness
);

ALTER TABLE `tachograph`.agent_runs_local ON CLUSTER `tachograph` MATERIALIZE PROJECTION slo_minutes;

ALTER TABLE `tachograph`.decision_events_local ON CLUSTER `tachograph` MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';

ALTER TABLE `tachograph`.decision_events_local ON CLUSTER `tachograph` ADD PROJECTION IF NOT EXISTS slo_minutes
(
    SELECT tenant_id, toStartOfMinute(occurred_at), isNotNull(latency_ms), latency_ms > 30000, count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfMinute(occurred_at), isNotNull(latency_ms), latency_ms > 30000
);

ALTER TABLE `tachograph`.decision_events_local ON CLUSTER `tachograph` MATERIALIZE PROJECTION slo_minutes;

ALTER TABLE `tachograph`.evaluations_local ON CLUSTER `tachograph` MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';

ALTER TABLE `tachograph`.evaluations_local ON CLUSTER `tachograph` ADD PROJECTION IF NOT EXISTS slo_minutes
(
    SELECT
        tenant_id, toStartOfMinute(occurred_at), alignment_status, quality_status, policy_status,
        startsWith(rules, 'plugin:'), count(), max(occurred_at)
    GROUP BY
        tenant_id, toStartOfMinute(occurred_at), alignment_status, quality_status, policy_status,
        startsWith(rules, 'plugin:')
);

ALTER TABLE `tachograph`.evaluations_local ON CLUSTER `tachograph` MATERIALIZE PROJECTION slo_minutes;

ALTER TABLE `tachograph`.tool_calls_local ON CLUSTER `tachograph` MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';

ALTER TABLE `tachograph`.tool_calls_local ON CLUSTER `tachograph` ADD PROJECTION IF NOT EXISTS slo_minutes
(
    SELECT tenant_id, toStartOfMinute(occurred_at), complete, result_is_error, error_type, count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfMinute(occurred_at), complete, result_is_error, error_type
);

ALTER TABLE `tachograph`.tool_calls_local ON CLUSTER `tachograph` MATERIALIZE PROJECTION slo_minutes;

ALTER TABLE `tachograph`.snapshots_local ON CLUSTER `tachograph` MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';

ALTER TABLE `tachograph`.snapshots_local ON CLUSTER `tachograph` ADD PROJECTION IF NOT EXISTS slo_minutes
(
    SELECT tenant_id, toStartOfMinute(occurred_at), stored, isNull(deleted_at), count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfMinute(occurred_at), stored, isNull(deleted_at)
);

ALTER TABLE `tachograph`.snapshots_local ON CLUSTER `tachograph` MATERIALIZE PROJECTION slo_minutes;

CREATE OR REPLACE TABLE `tachograph`.agent_runs ON CLUSTER `tachograph` AS `tachograph`.agent_runs_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_runs_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.decision_events ON CLUSTER `tachograph` AS `tachograph`.decision_events_local
ENGINE = Distributed(`tachograph`, `tachograph`, decision_events_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.evaluations ON CLUSTER `tachograph` AS `tachograph`.evaluations_local
ENGINE = Distributed(`tachograph`, `tachograph`, evaluations_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.tool_calls ON CLUSTER `tachograph` AS `tachograph`.tool_calls_local
ENGINE = Distributed(`tachograph`, `tachograph`, tool_calls_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.snapshots ON CLUSTER `tachograph` AS `tachograph`.snapshots_local
ENGINE = Distributed(`tachograph`, `tachograph`, snapshots_local, cityHash64(tenant_id, trace_id));

-- sealed

CREATE OR REPLACE VIEW `tachograph`.records_in_force ON CLUSTER `tachograph` AS
SELECT record.*
FROM `tachograph`.decision_records AS record
WHERE (record.tenant_id, record.record_id) NOT IN
(
    SELECT tenant_id, assumeNotNull(supersedes)
    FROM `tachograph`.decision_records
    WHERE supersedes IS NOT NULL AND status = proposed_status
);

CREATE TABLE IF NOT EXISTS `tachograph`.log_heads_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose logs these are.',
    minute DateTime64(6, 'UTC') COMMENT 'First moment of the minute.' CODEC(Delta, ZSTD(1)),
    logs Array(Tuple(log_id LowCardinality(String), tree_size Int64, root_hash String)) COMMENT 'Logs by id.' CODEC(ZSTD(3)),
    note String COMMENT 'C2SP signed note, exact bytes.' CODEC(ZSTD(3)),
    signed_by LowCardinality(String) COMMENT 'Key id.',
    anchors Array(Tuple(kind LowCardinality(String), reference String, token String)) COMMENT 'Anchors that took the note.' CODEC(ZSTD(3)),
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/log_heads_local', '{replica}')
PRIMARY KEY (tenant_id, minute)
ORDER BY (tenant_id, minute, _partition, _offset)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Every log of a tenant and how far it had come, signed once a minute.';

CREATE OR REPLACE TABLE `tachograph`.log_heads ON CLUSTER `tachograph` AS `tachograph`.log_heads_local
ENGINE = Distributed(`tachograph`, `tachograph`, log_heads_local, cityHash64(tenant_id));

-- content_views

CREATE TABLE IF NOT EXISTS `tachograph`.content_views_local ON CLUSTER `tachograph`
(
    tenant_id LowCardinality(String) COMMENT 'Whose data was shown.',
    view_id String COMMENT 'View.' CODEC(ZSTD(1)),
    viewer LowCardinality(String) COMMENT 'Who looked: the subject that the identity provider names, or the local operator.',
    role LowCardinality(String) COMMENT 'Role under which the viewer looked.',
    kind LowCardinality(String) COMMENT 'What was shown: run, model_call, tool_call, snapshot, record, dead_letter, search or query.',
    run_id String COMMENT 'Run it belongs to; empty if to none.' CODEC(ZSTD(1)),
    target String COMMENT 'Event, tool call, snapshot, record or dead letter that was shown; empty if it was all of the run.' CODEC(ZSTD(1)),
    detail String COMMENT 'Of a search or query, the text that was asked; else empty.' CODEC(ZSTD(3)),
    remote String COMMENT 'Address the request came from.',
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it was asked for, by the console\'s clock.' CODEC(Delta, ZSTD(1)),
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(view_id),
            length(viewer),
            length(role),
            length(kind),
            length(run_id),
            length(target),
            length(detail),
            length(remote)
        )
        COMMENT 'Size of the largest single content in the row.',
    INDEX run_id_bloom run_id TYPE bloom_filter(0.01) GRANULARITY 1,
    CONSTRAINT content_is_at_most_64_kb CHECK content_bytes <= 65536,
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tachograph/content_views_local', '{replica}')
PRIMARY KEY (tenant_id, occurred_at)
ORDER BY (tenant_id, occurred_at, view_id)
TTL toDateTime(_ingested_at) + INTERVAL 730 DAY
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800
COMMENT 'Who asked the console for captured content, and for which.';

CREATE OR REPLACE TABLE `tachograph`.content_views ON CLUSTER `tachograph` AS `tachograph`.content_views_local
ENGINE = Distributed(`tachograph`, `tachograph`, content_views_local, cityHash64(tenant_id, run_id));

-- slo_hours

ALTER TABLE `tachograph`.agent_runs_local ON CLUSTER `tachograph` ADD PROJECTION IF NOT EXISTS slo_hours
(
    SELECT tenant_id, toStartOfHour(occurred_at), completeness, count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfHour(occurred_at), completeness
);

ALTER TABLE `tachograph`.agent_runs_local ON CLUSTER `tachograph` MATERIALIZE PROJECTION slo_hours;

ALTER TABLE `tachograph`.decision_events_local ON CLUSTER `tachograph` ADD PROJECTION IF NOT EXISTS slo_hours
(
    SELECT tenant_id, toStartOfHour(occurred_at), isNotNull(latency_ms), latency_ms > 30000, count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfHour(occurred_at), isNotNull(latency_ms), latency_ms > 30000
);

ALTER TABLE `tachograph`.decision_events_local ON CLUSTER `tachograph` MATERIALIZE PROJECTION slo_hours;

ALTER TABLE `tachograph`.evaluations_local ON CLUSTER `tachograph` ADD PROJECTION IF NOT EXISTS slo_hours
(
    SELECT
        tenant_id, toStartOfHour(occurred_at), alignment_status, quality_status, policy_status,
        startsWith(rules, 'plugin:'), count(), max(occurred_at)
    GROUP BY
        tenant_id, toStartOfHour(occurred_at), alignment_status, quality_status, policy_status,
        startsWith(rules, 'plugin:')
);

ALTER TABLE `tachograph`.evaluations_local ON CLUSTER `tachograph` MATERIALIZE PROJECTION slo_hours;

ALTER TABLE `tachograph`.tool_calls_local ON CLUSTER `tachograph` ADD PROJECTION IF NOT EXISTS slo_hours
(
    SELECT tenant_id, toStartOfHour(occurred_at), complete, result_is_error, error_type, count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfHour(occurred_at), complete, result_is_error, error_type
);

ALTER TABLE `tachograph`.tool_calls_local ON CLUSTER `tachograph` MATERIALIZE PROJECTION slo_hours;

ALTER TABLE `tachograph`.snapshots_local ON CLUSTER `tachograph` ADD PROJECTION IF NOT EXISTS slo_hours
(
    SELECT tenant_id, toStartOfHour(occurred_at), stored, isNull(deleted_at), count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfHour(occurred_at), stored, isNull(deleted_at)
);

ALTER TABLE `tachograph`.snapshots_local ON CLUSTER `tachograph` MATERIALIZE PROJECTION slo_hours;

CREATE OR REPLACE TABLE `tachograph`.agent_runs ON CLUSTER `tachograph` AS `tachograph`.agent_runs_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_runs_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.decision_events ON CLUSTER `tachograph` AS `tachograph`.decision_events_local
ENGINE = Distributed(`tachograph`, `tachograph`, decision_events_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.evaluations ON CLUSTER `tachograph` AS `tachograph`.evaluations_local
ENGINE = Distributed(`tachograph`, `tachograph`, evaluations_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.tool_calls ON CLUSTER `tachograph` AS `tachograph`.tool_calls_local
ENGINE = Distributed(`tachograph`, `tachograph`, tool_calls_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE TABLE `tachograph`.snapshots ON CLUSTER `tachograph` AS `tachograph`.snapshots_local
ENGINE = Distributed(`tachograph`, `tachograph`, snapshots_local, cityHash64(tenant_id, trace_id));

-- log_heads_guard

ALTER TABLE `tachograph`.log_heads_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'log_id')), length(tupleElement(item, 'root_hash'))), logs)),
            length(signed_by),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'kind')), length(tupleElement(item, 'reference')), length(tupleElement(item, 'token'))), anchors))
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536;

CREATE OR REPLACE TABLE `tachograph`.log_heads ON CLUSTER `tachograph` AS `tachograph`.log_heads_local
ENGINE = Distributed(`tachograph`, `tachograph`, log_heads_local, cityHash64(tenant_id));

-- record_links

ALTER TABLE `tachograph`.agent_quality_signals_local ON CLUSTER `tachograph`
    ADD COLUMN IF NOT EXISTS record_id Nullable(String) COMMENT 'Decision record that the fact is about.' CODEC(ZSTD(1)) AFTER metadata,
    ADD INDEX IF NOT EXISTS record_id_bloom record_id TYPE bloom_filter(0.01) GRANULARITY 1,
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(signal_id),
            ifNull(length(step_id), 0),
            length(signal_type),
            length(signal_code),
            arrayMax(arrayMap(text -> length(text), mapKeys(metadata))),
            arrayMax(arrayMap(text -> length(text), mapValues(metadata))),
            ifNull(length(record_id), 0)
        );

CREATE OR REPLACE TABLE `tachograph`.agent_quality_signals ON CLUSTER `tachograph` AS `tachograph`.agent_quality_signals_local
ENGINE = Distributed(`tachograph`, `tachograph`, agent_quality_signals_local, cityHash64(tenant_id, trace_id));

CREATE OR REPLACE VIEW `tachograph`.record_links ON CLUSTER `tachograph` AS
SELECT tenant_id, assumeNotNull(signal.record_id) AS record_id, if(signal_type = 'user_feedback', 'feedback', 'signal') AS link,
    signal_code AS said, toString(signal.value) AS value, event_id AS reference, run_id, occurred_at
FROM `tachograph`.agent_quality_signals AS signal
WHERE signal.record_id IS NOT NULL
UNION ALL
SELECT tenant_id, record_id, 'score' AS link, score.1 AS said, assumeNotNull(score.2) AS value, event_id AS reference, run_id, occurred_at
FROM `tachograph`.decision_records
ARRAY JOIN arrayFilter(item -> item.2 IS NOT NULL, [
    ('policy', score_policy), ('utility', score_utility), ('latency', score_latency), ('safety', score_safety), ('cost', score_cost)
]) AS score
UNION ALL
SELECT tenant_id, substring(evidence, 8) AS record_id, 'violation' AS link, code AS said, severity AS value, violation_id AS reference, run_id, occurred_at
FROM `tachograph`.violations
WHERE startsWith(evidence, 'record:')
UNION ALL
SELECT tenant_id, record_id, 'replay' AS link, outcome AS said, '' AS value, replay_id AS reference, run_id, replayed_at AS occurred_at
FROM `tachograph`.replays
WHERE record_id != ''
UNION ALL
SELECT tenant_id, assumeNotNull(later.supersedes) AS record_id, 'correction' AS link, status AS said, '' AS value,
    later.record_id AS reference, run_id, occurred_at
FROM `tachograph`.decision_records AS later
WHERE later.supersedes IS NOT NULL;

-- spans

CREATE OR REPLACE VIEW `tachograph`.run_spans ON CLUSTER `tachograph` AS
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
FROM `tachograph`.runs AS run
LEFT JOIN
(
     
    SELECT tenant_id, run_id, any(metadata['parent_span_id']) AS span_id
    FROM `tachograph`.agent_runs
    WHERE metadata['parent_span_id'] != ''
    GROUP BY tenant_id, run_id
) AS caller ON caller.tenant_id = run.tenant_id AND caller.run_id = run.run_id
COMMENT 'Runs as spans, the roots of their trees. No content.';

CREATE OR REPLACE VIEW `tachograph`.step_spans ON CLUSTER `tachograph` AS
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
FROM `tachograph`.steps AS step
COMMENT 'Steps as spans. No content.';

CREATE OR REPLACE VIEW `tachograph`.event_spans ON CLUSTER `tachograph` AS
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
FROM `tachograph`.decision_events AS event
COMMENT 'Decision events as spans: calls of models, and actions without one. No content.';

CREATE OR REPLACE VIEW `tachograph`.call_spans ON CLUSTER `tachograph` AS
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
FROM `tachograph`.tool_calls AS call
LEFT ANY JOIN
(
    SELECT tenant_id, trace_id, run_id, step_id, span_id
    FROM `tachograph`.agent_steps
    WHERE span_id != ''
) AS step ON step.tenant_id = call.tenant_id AND step.trace_id = call.trace_id AND step.run_id = call.run_id AND step.step_id = ifNull(call.step_id, '')
LEFT ANY JOIN
(
    SELECT tenant_id, trace_id, run_id, tool_use_id, assumeNotNull(span_id) AS span_id
    FROM `tachograph`.tool_calls
    WHERE isNotNull(span_id) AND leg = 'call'
) AS caller ON caller.tenant_id = call.tenant_id AND caller.trace_id = call.trace_id AND caller.run_id = call.run_id AND caller.tool_use_id = ifNull(call.parent_tool_use_id, '')
WHERE call.leg = 'call' AND isNotNull(call.span_id)
COMMENT 'Tool calls as spans. No content.';

CREATE OR REPLACE VIEW `tachograph`.otel_traces ON CLUSTER `tachograph` AS
SELECT
     
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
    FROM `tachograph`.run_spans AS run
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
        FROM `tachograph`.violations AS violation
        GROUP BY tenant_id, trace_id, run_id
    ) AS found ON found.tenant_id = run.tenant_id AND found.trace_id = run.trace_id AND found.run_id = run.run_id
    UNION ALL
    SELECT
        tenant_id, agent_id, agent_version, environment, trace_id, span_id, parent_span_id, span_name, kind, began_at,
        duration_ms, status_code, status_message, attributes, []
    FROM `tachograph`.step_spans
    UNION ALL
    SELECT
        tenant_id, agent_id, agent_version, environment, trace_id, span_id, parent_span_id, span_name, kind, began_at,
        duration_ms, status_code, status_message, attributes, []
    FROM `tachograph`.event_spans
    UNION ALL
    SELECT
        tenant_id, agent_id, agent_version, environment, trace_id, span_id, parent_span_id, span_name, kind, began_at,
        duration_ms, status_code, status_message, attributes, []
    FROM `tachograph`.call_spans
) AS span
COMMENT 'Runs, steps, events and tool calls as spans, in the columns of OpenTelemetry\'s ClickHouse exporter. No content.';
