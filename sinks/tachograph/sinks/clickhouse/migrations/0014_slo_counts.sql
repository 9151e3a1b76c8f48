-- What the shipped objectives count, by the minute in which it happened, kept beside the rows themselves.
--
-- A projection belongs to the part it was made of. An insert that is repeated under its token is dropped with its counts,
-- rows that replace each other are counted anew when their parts merge, late rows count in their own minute, and what
-- retention removes is counted no more. A table fed by a view would have to be kept right in each of these cases.
--
-- Rows that are here already are counted in the background; until then they are counted when asked.

ALTER TABLE {database}.agent_runs MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';
ALTER TABLE {database}.agent_runs ADD PROJECTION IF NOT EXISTS slo_minutes
(
    SELECT tenant_id, toStartOfMinute(occurred_at), completeness, count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfMinute(occurred_at), completeness
);
ALTER TABLE {database}.agent_runs MATERIALIZE PROJECTION slo_minutes;

ALTER TABLE {database}.decision_events MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';
ALTER TABLE {database}.decision_events ADD PROJECTION IF NOT EXISTS slo_minutes
(
    SELECT tenant_id, toStartOfMinute(occurred_at), isNotNull(latency_ms), latency_ms > 30000, count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfMinute(occurred_at), isNotNull(latency_ms), latency_ms > 30000
);
ALTER TABLE {database}.decision_events MATERIALIZE PROJECTION slo_minutes;

ALTER TABLE {database}.evaluations MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';
ALTER TABLE {database}.evaluations ADD PROJECTION IF NOT EXISTS slo_minutes
(
    SELECT
        tenant_id, toStartOfMinute(occurred_at), alignment_status, quality_status, policy_status,
        startsWith(rules, 'plugin:'), count(), max(occurred_at)
    GROUP BY
        tenant_id, toStartOfMinute(occurred_at), alignment_status, quality_status, policy_status,
        startsWith(rules, 'plugin:')
);
ALTER TABLE {database}.evaluations MATERIALIZE PROJECTION slo_minutes;

ALTER TABLE {database}.tool_calls MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';
ALTER TABLE {database}.tool_calls ADD PROJECTION IF NOT EXISTS slo_minutes
(
    SELECT tenant_id, toStartOfMinute(occurred_at), complete, result_is_error, error_type, count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfMinute(occurred_at), complete, result_is_error, error_type
);
ALTER TABLE {database}.tool_calls MATERIALIZE PROJECTION slo_minutes;

ALTER TABLE {database}.snapshots MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';
ALTER TABLE {database}.snapshots ADD PROJECTION IF NOT EXISTS slo_minutes
(
    SELECT tenant_id, toStartOfMinute(occurred_at), stored, isNull(deleted_at), count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfMinute(occurred_at), stored, isNull(deleted_at)
);
ALTER TABLE {database}.snapshots MATERIALIZE PROJECTION slo_minutes;
