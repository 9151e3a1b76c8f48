-- Proposed and sealed decision records, and the signed heads of their logs. Proposals are kept 180 days, what is sealed
-- forever. Sealed records and checkpoints are sorted by log, because that is how a chain is read; a fork is two rows.
-- Sealed records have no size guard: a sealed record that could not land would be the greater failure, and what is
-- proposed has passed it.

CREATE TABLE IF NOT EXISTS {database}.record_proposals
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent that emitted the record.',
    run_id String COMMENT 'Run it belongs to; empty if the producer named none.' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace of the run; empty if the producer named none.' CODEC(ZSTD(1)),
    event_id String COMMENT 'Id of the record this row was made from.' CODEC(ZSTD(1)),
    seq Int64 COMMENT 'Place of the record in its run, from 0.' CODEC(Delta, ZSTD(1)),
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'When the broker appended the record.' CODEC(Delta, ZSTD(1)),
    record_id String COMMENT 'Record.',
    decision_key LowCardinality(String) COMMENT 'Decision in the catalog.',
    decision_version LowCardinality(String) COMMENT 'Version of its spec.',
    status LowCardinality(String) COMMENT 'DECIDED, DEFERRED, REJECTED, ESCALATED, IN_FLIGHT or CLOSED.',
    is_primary Bool COMMENT 'The run\'s main decision.',
    actor_type LowCardinality(String) COMMENT 'AGENT, USER or SERVICE.',
    actor_id String COMMENT 'Who decided.',
    workload_identity Nullable(String) COMMENT 'Workload identity of the actor.',
    delegated_user_id Nullable(String) COMMENT 'On whose behalf.',
    intent_ref Nullable(String) COMMENT 'Intent in the catalog.',
    subject_ids Array(String) COMMENT 'What it is about.',
    input_request String COMMENT 'Reference to the request.',
    input_session String COMMENT 'Reference to the session.',
    input_attachments Array(String) COMMENT 'References to attachments.',
    outputs String COMMENT 'Accepted outcome as JSON text.' CODEC(ZSTD(3)),
    evidence_refs Array(String) COMMENT 'Facts it stands on.',
    policy_decisions Array(Tuple(policy_decision_id String, bundle_id LowCardinality(String), bundle_version Nullable(String), rule_ids Array(String), verdict LowCardinality(String))) COMMENT 'Rules that were applied.' CODEC(ZSTD(3)),
    approvals Array(Tuple(gate_id LowCardinality(String), approver String, approval_mode_effective LowCardinality(String), evidence_snapshot_hash String, decided_at DateTime64(6, 'UTC'))) COMMENT 'Gates that were opened.' CODEC(ZSTD(3)),
    must_refuse Array(String) COMMENT 'Refusal controls in force.',
    must_escalate Array(String) COMMENT 'Escalation controls in force.',
    approval_gates_active Array(String) COMMENT 'Approval gates in force.',
    redaction_rules_active Array(String) COMMENT 'Redaction rules in force.',
    tool_lineage Array(Tuple(tool_call_id String, tool_result_id String, approval_mode_effective LowCardinality(String), idempotency_key Nullable(String), reversal_token Nullable(String))) COMMENT 'Side effects.' CODEC(ZSTD(3)),
    score_policy Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_utility Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_latency Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_safety Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_cost Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    budget_tokens Nullable(Int64) COMMENT 'Tokens used.',
    budget_tool_calls Nullable(Int64) COMMENT 'Tool calls made.',
    budget_cost_usd_cents Nullable(String) COMMENT 'Exact decimal.',
    budget_wall_clock_ms Nullable(Int64) COMMENT 'Time used.',
    pack_version LowCardinality(String) COMMENT 'Context pack.',
    policy_versions Array(String) COMMENT 'Policy bundles.',
    decision_spec LowCardinality(String) COMMENT 'Decision spec.',
    kg_snapshot String COMMENT 'Knowledge graph snapshot.',
    model_profile LowCardinality(String) COMMENT 'Model profile.',
    evaluator_suite LowCardinality(String) COMMENT 'Evaluator suite.',
    replay_packet_id Nullable(String) COMMENT 'What a replay loads.',
    compiled_context_hash Nullable(String) COMMENT 'Hash of the compiled context.',
    tool_transcript_chain_hash Nullable(String) COMMENT 'Hash of the tool transcripts.',
    replay_last_status LowCardinality(String) COMMENT 'Result of the last replay.',
    supersedes Nullable(String) COMMENT 'Record that this one corrects.',
    incident_id Nullable(String) COMMENT 'Incident it is linked to.',
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    content_bytes UInt64 MATERIALIZED
        length(outputs)
        COMMENT 'Size of the largest single content in the row.',
    INDEX run_id_bloom run_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX event_id_bloom event_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX trace_id_bloom trace_id TYPE bloom_filter(0.01) GRANULARITY 1,
    CONSTRAINT content_is_at_most_64_kb CHECK content_bytes <= 65536,
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at)
ORDER BY (tenant_id, agent_id, toStartOfHour(occurred_at), run_id, occurred_at, event_id, record_id, _partition, _offset)
TTL toDateTime(_ingested_at) + INTERVAL 180 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Decision records as agents proposed them, before any verdict.';

CREATE TABLE IF NOT EXISTS {database}.decision_records
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    agent_id LowCardinality(String) COMMENT 'Agent that emitted the record.',
    run_id String COMMENT 'Run it belongs to; empty if the producer named none.' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace of the run; empty if the producer named none.' CODEC(ZSTD(1)),
    event_id String COMMENT 'Id of the record this row was made from.' CODEC(ZSTD(1)),
    seq Int64 COMMENT 'Place of the record in its run, from 0.' CODEC(Delta, ZSTD(1)),
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'When the broker appended the record.' CODEC(Delta, ZSTD(1)),
    record_id String COMMENT 'Record.',
    decision_key LowCardinality(String) COMMENT 'Decision in the catalog.',
    decision_version LowCardinality(String) COMMENT 'Version of its spec.',
    status LowCardinality(String) COMMENT 'DECIDED, DEFERRED, REJECTED, ESCALATED, IN_FLIGHT or CLOSED.',
    is_primary Bool COMMENT 'The run\'s main decision.',
    actor_type LowCardinality(String) COMMENT 'AGENT, USER or SERVICE.',
    actor_id String COMMENT 'Who decided.',
    workload_identity Nullable(String) COMMENT 'Workload identity of the actor.',
    delegated_user_id Nullable(String) COMMENT 'On whose behalf.',
    intent_ref Nullable(String) COMMENT 'Intent in the catalog.',
    subject_ids Array(String) COMMENT 'What it is about.',
    input_request String COMMENT 'Reference to the request.',
    input_session String COMMENT 'Reference to the session.',
    input_attachments Array(String) COMMENT 'References to attachments.',
    outputs String COMMENT 'Accepted outcome as JSON text.' CODEC(ZSTD(3)),
    evidence_refs Array(String) COMMENT 'Facts it stands on.',
    policy_decisions Array(Tuple(policy_decision_id String, bundle_id LowCardinality(String), bundle_version Nullable(String), rule_ids Array(String), verdict LowCardinality(String))) COMMENT 'Rules that were applied.' CODEC(ZSTD(3)),
    approvals Array(Tuple(gate_id LowCardinality(String), approver String, approval_mode_effective LowCardinality(String), evidence_snapshot_hash String, decided_at DateTime64(6, 'UTC'))) COMMENT 'Gates that were opened.' CODEC(ZSTD(3)),
    must_refuse Array(String) COMMENT 'Refusal controls in force.',
    must_escalate Array(String) COMMENT 'Escalation controls in force.',
    approval_gates_active Array(String) COMMENT 'Approval gates in force.',
    redaction_rules_active Array(String) COMMENT 'Redaction rules in force.',
    tool_lineage Array(Tuple(tool_call_id String, tool_result_id String, approval_mode_effective LowCardinality(String), idempotency_key Nullable(String), reversal_token Nullable(String))) COMMENT 'Side effects.' CODEC(ZSTD(3)),
    score_policy Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_utility Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_latency Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_safety Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    score_cost Nullable(String) COMMENT 'Exact decimal between 0 and 1.',
    budget_tokens Nullable(Int64) COMMENT 'Tokens used.',
    budget_tool_calls Nullable(Int64) COMMENT 'Tool calls made.',
    budget_cost_usd_cents Nullable(String) COMMENT 'Exact decimal.',
    budget_wall_clock_ms Nullable(Int64) COMMENT 'Time used.',
    pack_version LowCardinality(String) COMMENT 'Context pack.',
    policy_versions Array(String) COMMENT 'Policy bundles.',
    decision_spec LowCardinality(String) COMMENT 'Decision spec.',
    kg_snapshot String COMMENT 'Knowledge graph snapshot.',
    model_profile LowCardinality(String) COMMENT 'Model profile.',
    evaluator_suite LowCardinality(String) COMMENT 'Evaluator suite.',
    replay_packet_id Nullable(String) COMMENT 'What a replay loads.',
    compiled_context_hash Nullable(String) COMMENT 'Hash of the compiled context.',
    tool_transcript_chain_hash Nullable(String) COMMENT 'Hash of the tool transcripts.',
    replay_last_status LowCardinality(String) COMMENT 'Result of the last replay.',
    supersedes Nullable(String) COMMENT 'Record that this one corrects.',
    incident_id Nullable(String) COMMENT 'Incident it is linked to.',
    proposed_status LowCardinality(String) COMMENT 'Status the agent proposed.',
    verdicts Array(Tuple(rule LowCardinality(String), passed Bool, code LowCardinality(String), message String)) COMMENT 'What the eight rules said.' CODEC(ZSTD(3)),
    retention LowCardinality(String) COMMENT 'Retention class.',
    log_id LowCardinality(String) COMMENT 'Log it is sealed in.',
    log_seq Int64 COMMENT 'Place in the log, from 0.',
    prev_hash String COMMENT 'Hash of the record before it.' CODEC(ZSTD(1)),
    record_hash String COMMENT 'Hash of the canonical record.' CODEC(ZSTD(1)),
    signed_by LowCardinality(String) COMMENT 'Key id.',
    signature String COMMENT 'Ed25519 over the record hash, base64.' CODEC(ZSTD(1)),
    sealed_at DateTime64(6, 'UTC') COMMENT 'Broker\'s append time of the proposal.',
    body String COMMENT 'Canonical JSON that was hashed, exact bytes.' CODEC(ZSTD(3)),
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    INDEX run_id_bloom run_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX event_id_bloom event_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX trace_id_bloom trace_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX record_id_bloom record_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX decision_key_bloom decision_key TYPE bloom_filter(0.01) GRANULARITY 1,
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
PRIMARY KEY (tenant_id, log_id, log_seq)
ORDER BY (tenant_id, log_id, log_seq, record_hash, _partition, _offset)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Sealed decision records. Appended, never changed.';

CREATE TABLE IF NOT EXISTS {database}.checkpoints
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    log_id LowCardinality(String) COMMENT 'Log.',
    tree_size Int64 COMMENT 'Records under the head.',
    root_hash String COMMENT 'Base64, as in the note.',
    head_hash String COMMENT 'Record hash of the last record in the chain.',
    note String COMMENT 'C2SP signed note, exact bytes.' CODEC(ZSTD(3)),
    signed_by LowCardinality(String) COMMENT 'Key id.',
    occurred_at DateTime64(6, 'UTC') COMMENT 'When it happened.' CODEC(Delta, ZSTD(1)),
    anchor Nullable(String) COMMENT 'Where it was anchored, if it was.',
    _partition Int64 COMMENT 'Partition of the row\'s topic.',
    _offset Int64 COMMENT 'Offset of the row in its partition.' CODEC(Delta, ZSTD(1)),
    _ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When ClickHouse took the row. Retention counts from here.' CODEC(Delta, ZSTD(1)),
    CONSTRAINT sink_coordinates_are_sound CHECK _partition BETWEEN 0 AND 1048575 AND _offset >= 0
)
ENGINE = ReplacingMergeTree
PRIMARY KEY (tenant_id, log_id, tree_size)
ORDER BY (tenant_id, log_id, tree_size, root_hash, signed_by, _partition, _offset)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Signed heads of the record logs.';
