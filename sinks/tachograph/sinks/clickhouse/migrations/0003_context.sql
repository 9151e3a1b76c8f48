-- What was in the context and what a fault kept. Laid out as 0001 says. Manifests and items are kept 90 days; the index of
-- snapshots as long as the snapshots themselves, 14 days. snapshots has no received_at and few rows, so it has no
-- partitions: occurred_at is a producer's clock.

CREATE TABLE IF NOT EXISTS {database}.context_manifests
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
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, manifest_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'What was in the context of each step. Its items are in context_items.';

CREATE TABLE IF NOT EXISTS {database}.context_items
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
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, manifest_id, position, is_included, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Every item that was in a step\'s context or was left out of it, and why.';

CREATE TABLE IF NOT EXISTS {database}.snapshots
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
ENGINE = ReplacingMergeTree
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, snapshot_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 14 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Prompts and tool outputs stored because of a fault, and those that could not be.';
