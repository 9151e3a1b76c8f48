-- Tool calls joined from their legs, what the stream made of each event, and what of a run's calls was joined.
--
-- Rows of tool_calls written before this have one leg each and say so in `leg`; a joined call says `call`.

ALTER TABLE {database}.tool_calls
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

ALTER TABLE {database}.tool_calls
    ADD INDEX IF NOT EXISTS event_ids_bloom event_ids TYPE bloom_filter(0.01) GRANULARITY 1;

ALTER TABLE {database}.agent_runs
    ADD COLUMN IF NOT EXISTS tool_calls Nullable(Int64) COMMENT 'Tool calls of the run.' AFTER metadata,
    ADD COLUMN IF NOT EXISTS tool_calls_joined Nullable(Int64) COMMENT 'Those of which every leg arrived.' AFTER tool_calls,
    ADD COLUMN IF NOT EXISTS repeats Nullable(Int64) COMMENT 'Records that arrived more than once and were counted once.' AFTER tool_calls_joined,
    COMMENT COLUMN event_type 'run_started, run_ended, or run_silent if it stopped without an end.';

CREATE TABLE IF NOT EXISTS {database}.evaluations
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
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'What the stream made of each action boundary, beside what the agent said of itself.';

CREATE OR REPLACE VIEW {database}.runs AS
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
FROM {database}.agent_runs AS change
GROUP BY tenant_id, run_id;
