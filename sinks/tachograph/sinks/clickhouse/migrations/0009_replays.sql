-- What became of records when they were replayed. Laid out as 0001 says; few rows, so no partitions. A replay's id is its
-- own, so a repeated message is the same row and may collapse wherever it was read from. Kept as long as violations.

CREATE TABLE IF NOT EXISTS {database}.replays
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
ENGINE = ReplacingMergeTree
PRIMARY KEY (tenant_id, pack_version, replayed_at)
ORDER BY (tenant_id, pack_version, replayed_at, run_id, replay_id)
TTL toDateTime(_ingested_at) + INTERVAL 730 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Results of replaying records and runs. Replaying again adds a row.';
