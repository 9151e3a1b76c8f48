-- The same counts as slo_minutes by the hour: what is older than any window of an alert needs no minutes.

ALTER TABLE {database}.agent_runs ADD PROJECTION IF NOT EXISTS slo_hours
(
    SELECT tenant_id, toStartOfHour(occurred_at), completeness, count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfHour(occurred_at), completeness
);
ALTER TABLE {database}.agent_runs MATERIALIZE PROJECTION slo_hours;

ALTER TABLE {database}.decision_events ADD PROJECTION IF NOT EXISTS slo_hours
(
    SELECT tenant_id, toStartOfHour(occurred_at), isNotNull(latency_ms), latency_ms > 30000, count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfHour(occurred_at), isNotNull(latency_ms), latency_ms > 30000
);
ALTER TABLE {database}.decision_events MATERIALIZE PROJECTION slo_hours;

ALTER TABLE {database}.evaluations ADD PROJECTION IF NOT EXISTS slo_hours
(
    SELECT
        tenant_id, toStartOfHour(occurred_at), alignment_status, quality_status, policy_status,
        startsWith(rules, 'plugin:'), count(), max(occurred_at)
    GROUP BY
        tenant_id, toStartOfHour(occurred_at), alignment_status, quality_status, policy_status,
        startsWith(rules, 'plugin:')
);
ALTER TABLE {database}.evaluations MATERIALIZE PROJECTION slo_hours;

ALTER TABLE {database}.tool_calls ADD PROJECTION IF NOT EXISTS slo_hours
(
    SELECT tenant_id, toStartOfHour(occurred_at), complete, result_is_error, error_type, count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfHour(occurred_at), complete, result_is_error, error_type
);
ALTER TABLE {database}.tool_calls MATERIALIZE PROJECTION slo_hours;

ALTER TABLE {database}.snapshots ADD PROJECTION IF NOT EXISTS slo_hours
(
    SELECT tenant_id, toStartOfHour(occurred_at), stored, isNull(deleted_at), count(), max(occurred_at)
    GROUP BY tenant_id, toStartOfHour(occurred_at), stored, isNull(deleted_at)
);
ALTER TABLE {database}.snapshots MATERIALIZE PROJECTION slo_hours;
