-- What agents say about their runs: runs, steps, failures, decisions, quality signals.
--
-- What every table here has, and why:
--   * Columns, types and comments are those of the contract; the sink adds _partition and _offset, ClickHouse the rest.
--   * PARTITION BY the month of received_at, the broker's time. A producer's clock may be wild, and a batch full of wild
--     months would be refused or explode into parts. Never by _ingested_at: an insert that is repeated after midnight
--     must meet its first attempt in the same partition, or it would not be recognised as a repeat.
--   * Tenant first in the sort key, nothing mutable in it. It ends in _partition and _offset, so that two distinct rows
--     are never collapsed, however alike: ReplacingMergeTree only removes a row that was sent twice from the same place.
--   * non_replicated_deduplication_window: without it insert tokens do nothing. 10,000 inserts is twenty minutes of a
--     table at eight inserts a second; a repeat comes within seconds.
--   * TTL counts from _ingested_at, the one clock nobody else sets. 180 days here.
--   * Guards check materialised columns, because a failed check prints the columns it read, and those hold keys and sizes,
--     never content.

CREATE TABLE IF NOT EXISTS {database}.agent_runs
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
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Changes of a run\'s state, one row each. The view runs has one row per run.';

CREATE TABLE IF NOT EXISTS {database}.agent_steps
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
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Starts and ends of steps, one row each. The view steps has one row per step.';

CREATE TABLE IF NOT EXISTS {database}.agent_failures
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
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, failure_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'What went wrong in agents, and what their recorders lost.';

CREATE TABLE IF NOT EXISTS {database}.agent_decisions
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
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, decision_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Points where an agent chose between options.';

CREATE TABLE IF NOT EXISTS {database}.agent_quality_signals
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
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, signal_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Atomic facts correlated with the quality of outcomes.';
