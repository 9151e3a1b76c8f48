-- Who asked the console for captured content. Kept as long as the violations: those who ask who knew ask late.

CREATE TABLE IF NOT EXISTS {database}.content_views
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
ENGINE = ReplacingMergeTree
PRIMARY KEY (tenant_id, occurred_at)
ORDER BY (tenant_id, occurred_at, view_id)
TTL toDateTime(_ingested_at) + INTERVAL 730 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Who asked the console for captured content, and for which.';
