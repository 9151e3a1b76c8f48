-- The guard of content for the heads of logs. The note is not counted: it is signed, and grows with the number of logs.

ALTER TABLE {database}.log_heads
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'log_id')), length(tupleElement(item, 'root_hash'))), logs)),
            length(signed_by),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'kind')), length(tupleElement(item, 'reference')), length(tupleElement(item, 'token'))), anchors))
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536;
