-- What is kept for good, and for how long the rest is kept. The classes are those of tachograph.schemas.retention.
--
-- A run is kept whole if a decision of it was destructive, denied, escalated, failed its scorecard or is linked to an
-- incident, if a hook aborted a call of it, or if a person says so (`tachograph retention hold`). Its name stands in
-- kept_runs. `tachograph retention apply`, to be run once a day, marks its rows as _kept, and the TTL of every table leaves
-- such rows alone. (A TTL could look into kept_runs itself, but then every insert would read all of it: measured, 4 s with
-- three million names.) Rows are there for 90 days at least before they could go, so a day without marking harms nobody;
-- `tachograph retention report` counts what is not marked yet.
--
-- TTLs work once a day: nobody needs more, and parts that hold old rows of kept runs are looked at again each time.

CREATE TABLE IF NOT EXISTS {database}.kept_runs
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    run_id String COMMENT 'Run that is kept.' CODEC(ZSTD(1)),
    reason LowCardinality(String) COMMENT 'destructive, denied, escalated, failed_scorecard or incident.',
    source_id String COMMENT 'Record, tool call or incident that is the reason.' CODEC(ZSTD(1)),
    kept_by LowCardinality(String) COMMENT 'stream, or the person who said so.',
    kept_since DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'Since when.'
)
ENGINE = ReplacingMergeTree
ORDER BY (tenant_id, run_id, reason, source_id)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Runs whose rows are kept for good, and why.';

CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.kept_runs_from_records TO {database}.kept_runs
DEFINER = CURRENT_USER SQL SECURITY DEFINER
AS WITH
    has(arrayMap(item -> toString(item.approval_mode_effective), approvals), 'destructive')
        OR has(arrayMap(item -> toString(item.approval_mode_effective), tool_lineage), 'destructive') AS is_destructive,
    status = 'REJECTED' OR arrayExists(item -> item.verdict = 'deny', policy_decisions) AS is_denied,
    status = 'ESCALATED' AS is_escalated,
    ifNull(incident_id, '') != '' AS is_incident
SELECT
    tenant_id,
    run_id,
    arrayJoin(arrayConcat(
        if(is_destructive, ['destructive'], []),
        if(is_denied, ['denied'], []),
        if(is_escalated, ['escalated'], []),
        if(is_incident, ['incident'], []),
        if(is_destructive OR is_denied OR is_escalated OR is_incident, [], ['failed_scorecard'])
    )) AS reason,
    record_id AS source_id,
    'stream' AS kept_by,
    now64(3) AS kept_since
FROM {database}.decision_records
WHERE retention = 'protected' AND run_id != '';

CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.kept_runs_from_hooks TO {database}.kept_runs
DEFINER = CURRENT_USER SQL SECURITY DEFINER
AS SELECT
    tenant_id,
    run_id,
    'denied' AS reason,
    tool_use_id AS source_id,
    'stream' AS kept_by,
    now64(3) AS kept_since
FROM {database}.tool_calls
WHERE hook_action = 'abort' AND run_id != '';

-- Runs that had a reason before this. A name that is there twice is there once.
INSERT INTO {database}.kept_runs (tenant_id, run_id, reason, source_id, kept_by, kept_since)
WITH
    has(arrayMap(item -> toString(item.approval_mode_effective), approvals), 'destructive')
        OR has(arrayMap(item -> toString(item.approval_mode_effective), tool_lineage), 'destructive') AS is_destructive,
    status = 'REJECTED' OR arrayExists(item -> item.verdict = 'deny', policy_decisions) AS is_denied,
    status = 'ESCALATED' AS is_escalated,
    ifNull(incident_id, '') != '' AS is_incident
SELECT
    tenant_id,
    run_id,
    arrayJoin(arrayConcat(
        if(is_destructive, ['destructive'], []),
        if(is_denied, ['denied'], []),
        if(is_escalated, ['escalated'], []),
        if(is_incident, ['incident'], []),
        if(is_destructive OR is_denied OR is_escalated OR is_incident, [], ['failed_scorecard'])
    )) AS reason,
    record_id AS source_id,
    'stream' AS kept_by,
    now64(3) AS kept_since
FROM {database}.decision_records
WHERE retention = 'protected' AND run_id != '';

INSERT INTO {database}.kept_runs (tenant_id, run_id, reason, source_id, kept_by, kept_since)
SELECT
    tenant_id,
    run_id,
    'denied' AS reason,
    tool_use_id AS source_id,
    'stream' AS kept_by,
    now64(3) AS kept_since
FROM {database}.tool_calls
WHERE hook_action = 'abort' AND run_id != '';

ALTER TABLE {database}.agent_runs ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE {database}.agent_runs MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE {database}.agent_runs MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE {database}.agent_steps ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE {database}.agent_steps MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE {database}.agent_steps MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE {database}.agent_failures ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE {database}.agent_failures MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE {database}.agent_failures MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE {database}.agent_decisions ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE {database}.agent_decisions MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE {database}.agent_decisions MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE {database}.agent_quality_signals ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE {database}.agent_quality_signals MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE {database}.agent_quality_signals MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE {database}.decision_events ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE {database}.decision_events MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE {database}.decision_events MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE {database}.evaluations ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE {database}.evaluations MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE {database}.evaluations MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE {database}.tool_calls ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE {database}.tool_calls MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE {database}.tool_calls MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE {database}.record_proposals ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE {database}.record_proposals MODIFY TTL toDateTime(_ingested_at) + INTERVAL 180 DAY DELETE WHERE NOT _kept;

ALTER TABLE {database}.record_proposals MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE {database}.context_manifests ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE {database}.context_manifests MODIFY TTL toDateTime(_ingested_at) + INTERVAL 90 DAY DELETE WHERE NOT _kept;

ALTER TABLE {database}.context_manifests MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE {database}.context_items ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE {database}.context_items MODIFY TTL toDateTime(_ingested_at) + INTERVAL 90 DAY DELETE WHERE NOT _kept;

ALTER TABLE {database}.context_items MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE {database}.snapshots ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE {database}.snapshots MODIFY TTL toDateTime(_ingested_at) + INTERVAL 90 DAY DELETE WHERE NOT _kept AND retention != 'protected';

ALTER TABLE {database}.snapshots MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE {database}.violations ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE {database}.violations MODIFY TTL toDateTime(_ingested_at) + INTERVAL 730 DAY DELETE WHERE NOT _kept;

ALTER TABLE {database}.violations MODIFY SETTING merge_with_ttl_timeout = 86400;

ALTER TABLE {database}.replays ADD COLUMN IF NOT EXISTS _kept Bool DEFAULT false COMMENT 'Belongs to a run that is kept for good.';

ALTER TABLE {database}.replays MODIFY TTL toDateTime(_ingested_at) + INTERVAL 730 DAY DELETE WHERE NOT _kept;

ALTER TABLE {database}.replays MODIFY SETTING merge_with_ttl_timeout = 86400;
