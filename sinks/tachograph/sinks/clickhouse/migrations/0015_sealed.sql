-- Sealed records by tenant and month, found by what auditors ask for; and the heads of all logs.
--
-- A partition holds a sixteenth of the tenants and a month: one partition for each tenant would give a sealer of many
-- tenants more parts than ClickHouse takes in one insert. The sort key begins with the tenant either way.

CREATE TABLE IF NOT EXISTS {database}.decision_records_by_tenant AS {database}.decision_records
ENGINE = ReplacingMergeTree
PARTITION BY (sipHash64(tenant_id) % 16, toYYYYMM(received_at))
PRIMARY KEY (tenant_id, log_id, log_seq)
ORDER BY (tenant_id, log_id, log_seq, record_hash, _partition, _offset)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Sealed decision records. Appended, never changed.';

INSERT INTO {database}.decision_records_by_tenant SELECT * FROM {database}.decision_records;

EXCHANGE TABLES {database}.decision_records_by_tenant AND {database}.decision_records;

DROP TABLE IF EXISTS {database}.decision_records_by_tenant;

ALTER TABLE {database}.decision_records
    ADD COLUMN IF NOT EXISTS approvers Array(String)
        MATERIALIZED arrayMap(given -> given.approver, approvals) COMMENT 'Who opened its gates.',
    ADD COLUMN IF NOT EXISTS approval_modes Array(LowCardinality(String))
        MATERIALIZED arrayDistinct(arrayConcat(
            arrayMap(given -> given.approval_mode_effective, approvals),
            arrayMap(used -> used.approval_mode_effective, tool_lineage)))
        COMMENT 'How much authority it used, of its approvals and tools.',
    ADD COLUMN IF NOT EXISTS policy_decision_ids Array(String)
        MATERIALIZED arrayMap(said -> said.policy_decision_id, policy_decisions) COMMENT 'Policy decisions behind it.';

ALTER TABLE {database}.decision_records
    ADD INDEX IF NOT EXISTS subject_ids_bloom subject_ids TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS status_set status TYPE set(8) GRANULARITY 4,
    ADD INDEX IF NOT EXISTS approval_modes_bloom approval_modes TYPE bloom_filter(0.01) GRANULARITY 4,
    ADD INDEX IF NOT EXISTS policy_decision_ids_bloom policy_decision_ids TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS approvers_bloom approvers TYPE bloom_filter(0.01) GRANULARITY 1;

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
