-- Pointers to snapshots, beside what they belong to. Tables are appended to, so the pointers are joined on reading.
--
-- A snapshot has one row when it was taken and another when retention or an erasure removed its bytes; the later one
-- counts. The index holds no bytes, so it is kept as long as the manifests: a pointer outlives the bytes and says that
-- they are gone.

ALTER TABLE {database}.snapshots MODIFY TTL toDateTime(_ingested_at) + INTERVAL 90 DAY;

CREATE OR REPLACE VIEW {database}.snapshot_pointers AS
WITH (isNotNull(change.deleted_at), change._ingested_at, change._offset) AS written
SELECT
    tenant_id,
    run_id,
    snapshot_id,
    any(change.agent_id) AS agent_id,
    any(change.trace_id) AS trace_id,
    any(change.step_id) AS step_id,
    any(change.event_id) AS event_id,
    argMax(change.tool_use_id, written) AS tool_use_id,
    argMax(change.kind, written) AS kind,
    any(change.trigger) AS trigger,
    any(change.occurred_at) AS occurred_at,
    argMax(change.stored, written) AS stored,
    argMax(change.artifact_id, written) AS artifact_id,
    argMax(change.path, written) AS path,
    argMax(change.hash, written) AS hash,
    argMax(change.size_bytes, written) AS size_bytes,
    argMax(change.created_at, written) AS created_at,
    argMax(change.deleted_at, written) AS deleted_at,
    argMax(change.retention, written) AS retention
FROM {database}.snapshots AS change
GROUP BY tenant_id, run_id, snapshot_id;

CREATE OR REPLACE VIEW {database}.manifests AS
SELECT manifest.*, pointers.snapshots AS snapshots
FROM {database}.context_manifests AS manifest
LEFT JOIN
(
    SELECT
        tenant_id,
        run_id,
        assumeNotNull(step_id) AS step_id,
        groupArray((snapshot_id, kind, trigger, stored, artifact_id, path, hash, size_bytes, created_at, deleted_at)::Tuple(
            snapshot_id String, kind String, trigger String, stored Bool, artifact_id Nullable(String), path Nullable(String),
            hash Nullable(String), size_bytes Nullable(Int64), created_at Nullable(DateTime64(6, 'UTC')),
            deleted_at Nullable(DateTime64(6, 'UTC')))) AS snapshots
    FROM {database}.snapshot_pointers
    WHERE isNotNull(step_id)
    GROUP BY tenant_id, run_id, step_id
) AS pointers USING (tenant_id, run_id, step_id);

CREATE OR REPLACE VIEW {database}.events AS
SELECT event.*, pointers.snapshots AS snapshots
FROM {database}.decision_events AS event
LEFT JOIN
(
    SELECT
        tenant_id,
        run_id,
        ifNull(step_id, '') AS step,
        groupArray((snapshot_id, kind, trigger, stored, artifact_id, path, hash, size_bytes, created_at, deleted_at)::Tuple(
            snapshot_id String, kind String, trigger String, stored Bool, artifact_id Nullable(String), path Nullable(String),
            hash Nullable(String), size_bytes Nullable(Int64), created_at Nullable(DateTime64(6, 'UTC')),
            deleted_at Nullable(DateTime64(6, 'UTC')))) AS snapshots
    FROM {database}.snapshot_pointers
    GROUP BY tenant_id, run_id, step
) AS pointers ON pointers.tenant_id = event.tenant_id AND pointers.run_id = event.run_id AND pointers.step = ifNull(event.step_id, '');
