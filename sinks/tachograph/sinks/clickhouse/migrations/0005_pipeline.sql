-- What the pipeline found wrong. Violations are kept two years, dead letters 90 days. Neither has received_at, and both
-- are few, so they have no partitions. Their ids are derived from what they report: a repeat is the same row, and may
-- collapse wherever it was read from.

CREATE TABLE IF NOT EXISTS {database}.violations
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
ENGINE = ReplacingMergeTree
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, violation_id)
TTL toDateTime(_ingested_at) + INTERVAL 730 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Broken promises of every kind.';

CREATE TABLE IF NOT EXISTS {database}.dead_letters
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
ENGINE = ReplacingMergeTree
PRIMARY KEY (tenant_id, source_topic, source_partition, source_offset)
ORDER BY (tenant_id, source_topic, source_partition, source_offset, stage, dead_letter_id)
TTL toDateTime(_ingested_at) + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Messages that could not be processed. Their bytes stay in the dead-letter topic.';
