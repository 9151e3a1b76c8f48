-- Records that no later one supersedes, and the heads of all logs.

CREATE OR REPLACE VIEW {database}.records_in_force AS
SELECT record.*
FROM {database}.decision_records AS record
WHERE (record.tenant_id, record.record_id) NOT IN
(
    SELECT tenant_id, assumeNotNull(supersedes)
    FROM {database}.decision_records
    WHERE supersedes IS NOT NULL AND status = proposed_status
);

CREATE TABLE IF NOT EXISTS {database}.log_heads
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
ENGINE = ReplacingMergeTree
PRIMARY KEY (tenant_id, minute)
ORDER BY (tenant_id, minute, _partition, _offset)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Every log of a tenant and how far it had come, signed once a minute.';
