-- What people ask for: one row per run, one row per step.
--
-- agent_runs and agent_steps hold changes of state, one row each. The latest known value of a column wins, in the order
-- the worker wrote the rows: the broker's time of the record behind them, then the offset. A value that a later row does
-- not know (NULL, or an empty text) does not hide what an earlier row knew. No FINAL is needed.

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
    min(change.occurred_at) AS first_seen_at,
    max(change.occurred_at) AS last_seen_at
FROM {database}.agent_runs AS change
GROUP BY tenant_id, run_id;

CREATE OR REPLACE VIEW {database}.steps AS
WITH (change.received_at, change._offset) AS written
SELECT
    tenant_id,
    run_id,
    step_id,
    argMaxIf(change.agent_id, written, change.agent_id != '') AS agent_id,
    argMaxIf(change.trace_id, written, change.trace_id != '') AS trace_id,
    argMax(change.parent_step_id, written) AS parent_step_id,
    argMaxIf(change.span_id, written, change.span_id != '') AS span_id,
    argMax(change.parent_span_id, written) AS parent_span_id,
    argMaxIf(change.step_type, written, change.step_type != '') AS step_type,
    argMaxIf(change.name, written, change.name != '') AS name,
    argMaxIf(change.status, written, change.status != '') AS status,
    argMax(change.duration_ms, written) AS duration_ms,
    argMax(change.error_type, written) AS error_type,
    min(change.occurred_at) AS first_seen_at,
    max(change.occurred_at) AS last_seen_at,
    min(change.seq) AS first_seq
FROM {database}.agent_steps AS change
GROUP BY tenant_id, run_id, step_id;
