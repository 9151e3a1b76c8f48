-- What links back to a decision record: feedback, scores, violations, replays and corrections.

ALTER TABLE {database}.agent_quality_signals
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

CREATE OR REPLACE VIEW {database}.record_links AS
SELECT tenant_id, assumeNotNull(signal.record_id) AS record_id, if(signal_type = 'user_feedback', 'feedback', 'signal') AS link,
    signal_code AS said, toString(signal.value) AS value, event_id AS reference, run_id, occurred_at
FROM {database}.agent_quality_signals AS signal
WHERE signal.record_id IS NOT NULL
UNION ALL
SELECT tenant_id, record_id, 'score' AS link, score.1 AS said, assumeNotNull(score.2) AS value, event_id AS reference, run_id, occurred_at
FROM {database}.decision_records
ARRAY JOIN arrayFilter(item -> item.2 IS NOT NULL, [
    ('policy', score_policy), ('utility', score_utility), ('latency', score_latency), ('safety', score_safety), ('cost', score_cost)
]) AS score
UNION ALL
SELECT tenant_id, substring(evidence, 8) AS record_id, 'violation' AS link, code AS said, severity AS value, violation_id AS reference, run_id, occurred_at
FROM {database}.violations
WHERE startsWith(evidence, 'record:')
UNION ALL
SELECT tenant_id, record_id, 'replay' AS link, outcome AS said, '' AS value, replay_id AS reference, run_id, replayed_at AS occurred_at
FROM {database}.replays
WHERE record_id != ''
UNION ALL
SELECT tenant_id, assumeNotNull(later.supersedes) AS record_id, 'correction' AS link, status AS said, '' AS value,
    later.record_id AS reference, run_id, occurred_at
FROM {database}.decision_records AS later
WHERE later.supersedes IS NOT NULL;
