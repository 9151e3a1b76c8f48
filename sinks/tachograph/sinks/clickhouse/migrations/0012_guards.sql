-- The last line of defence: what the database itself refuses, whoever writes it.
--
-- A failed check prints the columns that it read. So every check reads a column that holds a size, a number or a flag,
-- computed from what must not be printed; even the names of metadata keys may be somebody's secret.
--
--   * content_bytes is the size of the largest single text of the row, over every column that can hold text. Only the body
--     of a sealed record is not counted: it is the record itself, made of parts that were each checked before it was sealed.
--   * has_blocked_key looks at the keys of metadata, and at the keys inside values that are JSON text: at any depth, in any
--     case, padded, with escapes, quoted twice, or in Python's quotes.
--   * Members of tuples are taken by tupleElement: where ClickHouse computes a column for rows that are older than it, it
--     does not resolve item.name in a lambda, and merges would stop.
--   * Codes, choices and shares of decisions and signals have the limits of the contract.
--
-- Indexes are for those who look for a decision, a signal or a sealed record by something else than its run.

ALTER TABLE {database}.agent_runs
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(event_type),
            length(session_id),
            length(agent_version),
            length(environment),
            length(capture_mode),
            length(status),
            length(request_id),
            length(user_request_raw),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'type')), length(tupleElement(item, 'rule'))), constraints)),
            length(channel),
            ifNull(length(repo), 0),
            ifNull(length(branch), 0),
            ifNull(length(ticket_id), 0),
            ifNull(length(parent_run_id), 0),
            length(sdk),
            ifNull(length(error_type), 0),
            length(completeness),
            arrayMax(arrayMap(text -> length(text), missing)),
            arrayMax(arrayMap(text -> length(text), mapKeys(metadata))),
            arrayMax(arrayMap(text -> length(text), mapValues(metadata)))
        ),
    ADD COLUMN IF NOT EXISTS has_blocked_key Bool MATERIALIZED
        hasAny(
            metadata_keys,
            ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
        )
            OR arrayExists(
                value -> position(value, '{') > 0 AND hasAny(
                    arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), arrayConcat(
                        arrayMap(name -> JSONExtractString(concat('"', name, '"')), extractAll(value, '"((?:[^"\\\\]|\\\\.)*)"\\s*:')),
                        extractAll(replaceAll(value, '\\', ''), '["\']([^"\']*)["\']\\s*:')
                    )),
                    ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
                ),
                mapValues(metadata)
            )
        COMMENT 'Whether metadata has a blocked key, in its values too.',
    ADD CONSTRAINT IF NOT EXISTS metadata_has_no_blocked_key_at_any_depth CHECK NOT has_blocked_key,
    DROP CONSTRAINT IF EXISTS metadata_has_no_blocked_key;

ALTER TABLE {database}.agent_steps
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(event_type),
            length(step_id),
            ifNull(length(parent_step_id), 0),
            length(span_id),
            ifNull(length(parent_span_id), 0),
            length(step_type),
            length(name),
            length(status),
            ifNull(length(error_type), 0),
            arrayMax(arrayMap(text -> length(text), mapKeys(metadata))),
            arrayMax(arrayMap(text -> length(text), mapValues(metadata)))
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536,
    ADD COLUMN IF NOT EXISTS has_blocked_key Bool MATERIALIZED
        hasAny(
            metadata_keys,
            ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
        )
            OR arrayExists(
                value -> position(value, '{') > 0 AND hasAny(
                    arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), arrayConcat(
                        arrayMap(name -> JSONExtractString(concat('"', name, '"')), extractAll(value, '"((?:[^"\\\\]|\\\\.)*)"\\s*:')),
                        extractAll(replaceAll(value, '\\', ''), '["\']([^"\']*)["\']\\s*:')
                    )),
                    ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
                ),
                mapValues(metadata)
            )
        COMMENT 'Whether metadata has a blocked key, in its values too.',
    ADD CONSTRAINT IF NOT EXISTS metadata_has_no_blocked_key_at_any_depth CHECK NOT has_blocked_key,
    DROP CONSTRAINT IF EXISTS metadata_has_no_blocked_key;

ALTER TABLE {database}.agent_failures
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(failure_id),
            length(kind),
            ifNull(length(step_id), 0),
            ifNull(length(span_id), 0),
            length(error_type),
            length(message),
            length(trigger),
            ifNull(length(tool_use_id), 0),
            arrayMax(arrayMap(text -> length(text), snapshot_artifact_ids)),
            arrayMax(arrayMap(text -> length(text), capture_ids)),
            ifNull(length(missing_pointer), 0),
            length(drop_reason),
            arrayMax(arrayMap(text -> length(text), dropped_types)),
            arrayMax(arrayMap(text -> length(text), mapKeys(metadata))),
            arrayMax(arrayMap(text -> length(text), mapValues(metadata)))
        ),
    ADD COLUMN IF NOT EXISTS has_blocked_key Bool MATERIALIZED
        hasAny(
            metadata_keys,
            ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
        )
            OR arrayExists(
                value -> position(value, '{') > 0 AND hasAny(
                    arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), arrayConcat(
                        arrayMap(name -> JSONExtractString(concat('"', name, '"')), extractAll(value, '"((?:[^"\\\\]|\\\\.)*)"\\s*:')),
                        extractAll(replaceAll(value, '\\', ''), '["\']([^"\']*)["\']\\s*:')
                    )),
                    ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
                ),
                mapValues(metadata)
            )
        COMMENT 'Whether metadata has a blocked key, in its values too.',
    ADD CONSTRAINT IF NOT EXISTS metadata_has_no_blocked_key_at_any_depth CHECK NOT has_blocked_key,
    DROP CONSTRAINT IF EXISTS metadata_has_no_blocked_key;

ALTER TABLE {database}.agent_decisions
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(decision_id),
            ifNull(length(step_id), 0),
            length(decision_type),
            length(selected),
            length(reason_code),
            arrayMax(arrayMap(text -> length(text), candidates)),
            arrayMax(arrayMap(text -> length(text), mapKeys(metadata))),
            arrayMax(arrayMap(text -> length(text), mapValues(metadata)))
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536,
    ADD COLUMN IF NOT EXISTS has_blocked_key Bool MATERIALIZED
        hasAny(
            metadata_keys,
            ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
        )
            OR arrayExists(
                value -> position(value, '{') > 0 AND hasAny(
                    arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), arrayConcat(
                        arrayMap(name -> JSONExtractString(concat('"', name, '"')), extractAll(value, '"((?:[^"\\\\]|\\\\.)*)"\\s*:')),
                        extractAll(replaceAll(value, '\\', ''), '["\']([^"\']*)["\']\\s*:')
                    )),
                    ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
                ),
                mapValues(metadata)
            )
        COMMENT 'Whether metadata has a blocked key, in its values too.',
    ADD CONSTRAINT IF NOT EXISTS metadata_has_no_blocked_key_at_any_depth CHECK NOT has_blocked_key,
    DROP CONSTRAINT IF EXISTS metadata_has_no_blocked_key;

ALTER TABLE {database}.agent_quality_signals
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
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
            arrayMax(arrayMap(text -> length(text), mapValues(metadata)))
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536,
    ADD COLUMN IF NOT EXISTS has_blocked_key Bool MATERIALIZED
        hasAny(
            metadata_keys,
            ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
        )
            OR arrayExists(
                value -> position(value, '{') > 0 AND hasAny(
                    arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), arrayConcat(
                        arrayMap(name -> JSONExtractString(concat('"', name, '"')), extractAll(value, '"((?:[^"\\\\]|\\\\.)*)"\\s*:')),
                        extractAll(replaceAll(value, '\\', ''), '["\']([^"\']*)["\']\\s*:')
                    )),
                    ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
                ),
                mapValues(metadata)
            )
        COMMENT 'Whether metadata has a blocked key, in its values too.',
    ADD CONSTRAINT IF NOT EXISTS metadata_has_no_blocked_key_at_any_depth CHECK NOT has_blocked_key,
    DROP CONSTRAINT IF EXISTS metadata_has_no_blocked_key;

ALTER TABLE {database}.decision_events
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(schema_version),
            length(span_id),
            ifNull(length(parent_span_id), 0),
            ifNull(length(step_id), 0),
            length(session_id),
            length(agent_version),
            length(environment),
            length(request_id),
            length(user_request_raw),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'type')), length(tupleElement(item, 'rule'))), constraints)),
            length(channel),
            ifNull(length(repo), 0),
            ifNull(length(branch), 0),
            ifNull(length(ticket_id), 0),
            length(provider),
            length(model),
            length(capture_mode),
            length(prompt_bundle_hash),
            ifNull(length(sent_hash), 0),
            ifNull(length(bundle_artifact_id), 0),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'role')), length(tupleElement(item, 'content'))), messages)),
            arrayMax(arrayMap(text -> length(text), retrieval_sources)),
            ifNull(length(retrieval_snippets), 0),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'name')), ifNull(length(tupleElement(item, 'description')), 0), ifNull(length(tupleElement(item, 'schema')), 0)), tools)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'type')), length(tupleElement(item, 'summary'))), transformations)),
            ifNull(length(completion_id), 0),
            ifNull(length(output_raw), 0),
            ifNull(length(output_artifact_id), 0),
            ifNull(length(output_structured), 0),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'tool_call_id')), length(tupleElement(item, 'name')), length(tupleElement(item, 'arguments'))), tool_calls)),
            length(action_type),
            length(action_summary),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'type')), length(tupleElement(item, 'id')), length(tupleElement(item, 'summary')), ifNull(length(tupleElement(item, 'content')), 0), ifNull(length(tupleElement(item, 'content_ref')), 0), length(tupleElement(item, 'hash')), ifNull(length(tupleElement(item, 'path')), 0)), artifacts)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'tool_call_id')), length(tupleElement(item, 'name')), ifNull(length(tupleElement(item, 'output')), 0), ifNull(length(tupleElement(item, 'output_artifact_id')), 0)), tool_results)),
            length(alignment_status),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'severity')), length(tupleElement(item, 'message')), ifNull(length(tupleElement(item, 'evidence')), 0)), alignment_violations)),
            length(quality_status),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'status')), length(tupleElement(item, 'message'))), quality_checks)),
            length(policy_status),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'status')), length(tupleElement(item, 'message'))), policy_checks)),
            ifNull(length(overrides_event_id), 0)
        );

ALTER TABLE {database}.evaluations
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            ifNull(length(step_id), 0),
            length(action_type),
            length(capture_mode),
            length(alignment_status),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'status')), length(tupleElement(item, 'message')), ifNull(length(tupleElement(item, 'constraint_id')), 0)), alignment_checks)),
            length(quality_status),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'status')), length(tupleElement(item, 'message')), ifNull(length(tupleElement(item, 'constraint_id')), 0)), quality_checks)),
            length(policy_status),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'id')), length(tupleElement(item, 'status')), length(tupleElement(item, 'message')), ifNull(length(tupleElement(item, 'constraint_id')), 0)), policy_checks)),
            length(rules)
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536;

ALTER TABLE {database}.tool_calls
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(tool_use_id),
            length(tool_name),
            length(leg),
            ifNull(length(span_id), 0),
            ifNull(length(step_id), 0),
            ifNull(length(task_id), 0),
            ifNull(length(parent_tool_use_id), 0),
            length(phase),
            length(capture_mode),
            ifNull(length(tool_input), 0),
            ifNull(length(input_artifact_id), 0),
            ifNull(length(output), 0),
            ifNull(length(output_artifact_id), 0),
            ifNull(length(error_type), 0),
            ifNull(length(error), 0),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'hook')), length(tupleElement(item, 'stage')), length(tupleElement(item, 'action')), length(tupleElement(item, 'reason')), ifNull(length(tupleElement(item, 'error_type')), 0)), hooks)),
            arrayMax(arrayMap(text -> length(text), mapKeys(metadata))),
            arrayMax(arrayMap(text -> length(text), mapValues(metadata))),
            arrayMax(arrayMap(text -> length(text), event_ids)),
            ifNull(length(requested_event_id), 0),
            ifNull(length(arguments), 0),
            arrayMax(arrayMap(text -> length(text), attribution)),
            length(hook_action),
            arrayMax(arrayMap(text -> length(text), missing)),
            length(closed_by)
        ),
    ADD COLUMN IF NOT EXISTS has_blocked_key Bool MATERIALIZED
        hasAny(
            metadata_keys,
            ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
        )
            OR arrayExists(
                value -> position(value, '{') > 0 AND hasAny(
                    arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), arrayConcat(
                        arrayMap(name -> JSONExtractString(concat('"', name, '"')), extractAll(value, '"((?:[^"\\\\]|\\\\.)*)"\\s*:')),
                        extractAll(replaceAll(value, '\\', ''), '["\']([^"\']*)["\']\\s*:')
                    )),
                    ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
                ),
                mapValues(metadata)
            )
        COMMENT 'Whether metadata has a blocked key, in its values too.',
    ADD CONSTRAINT IF NOT EXISTS metadata_has_no_blocked_key_at_any_depth CHECK NOT has_blocked_key,
    DROP CONSTRAINT IF EXISTS metadata_has_no_blocked_key;

ALTER TABLE {database}.context_manifests
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(manifest_id),
            length(step_id),
            length(snapshot_id),
            length(intent),
            ifNull(length(retrieval_query), 0),
            arrayMax(arrayMap(text -> length(text), candidate_chunk_ids)),
            arrayMax(arrayMap(text -> length(text), selected_chunk_ids)),
            ifNull(length(reranker_model), 0),
            ifNull(length(reranker_version), 0),
            length(compiler_version),
            length(prefix_hash),
            ifNull(length(prompt_snapshot_artifact_id), 0),
            arrayMax(arrayMap(text -> length(text), tool_output_snapshot_artifact_ids)),
            arrayMax(arrayMap(text -> length(text), mapKeys(metadata))),
            arrayMax(arrayMap(text -> length(text), mapValues(metadata)))
        ),
    ADD COLUMN IF NOT EXISTS has_blocked_key Bool MATERIALIZED
        hasAny(
            metadata_keys,
            ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
        )
            OR arrayExists(
                value -> position(value, '{') > 0 AND hasAny(
                    arrayMap(name -> replaceRegexpAll(caseFoldUTF8(name), '[\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\p{Z}\\x{200b}-\\x{200d}\\x{2060}\\x{feff}]+', ''), arrayConcat(
                        arrayMap(name -> JSONExtractString(concat('"', name, '"')), extractAll(value, '"((?:[^"\\\\]|\\\\.)*)"\\s*:')),
                        extractAll(replaceAll(value, '\\', ''), '["\']([^"\']*)["\']\\s*:')
                    )),
                    ['chain_of_thought', 'chainofthought', 'content', 'explanation', 'input', 'message', 'output', 'prompt', 'rationale', 'reasoning', 'response', 'text', 'thought']
                ),
                mapValues(metadata)
            )
        COMMENT 'Whether metadata has a blocked key, in its values too.',
    ADD CONSTRAINT IF NOT EXISTS metadata_has_no_blocked_key_at_any_depth CHECK NOT has_blocked_key,
    DROP CONSTRAINT IF EXISTS metadata_has_no_blocked_key;

ALTER TABLE {database}.context_items
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(manifest_id),
            length(step_id),
            length(item_id),
            length(item_type),
            ifNull(length(source_ref), 0),
            length(reason),
            ifNull(length(hash), 0)
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536;

ALTER TABLE {database}.snapshots
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(snapshot_id),
            length(trace_id),
            length(run_id),
            ifNull(length(step_id), 0),
            ifNull(length(event_id), 0),
            ifNull(length(tool_use_id), 0),
            length(kind),
            length(trigger),
            ifNull(length(artifact_id), 0),
            ifNull(length(path), 0),
            ifNull(length(hash), 0),
            length(retention)
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536;

ALTER TABLE {database}.record_proposals
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(record_id),
            length(decision_key),
            length(decision_version),
            length(status),
            length(actor_type),
            length(actor_id),
            ifNull(length(workload_identity), 0),
            ifNull(length(delegated_user_id), 0),
            ifNull(length(intent_ref), 0),
            arrayMax(arrayMap(text -> length(text), subject_ids)),
            length(input_request),
            length(input_session),
            arrayMax(arrayMap(text -> length(text), input_attachments)),
            length(outputs),
            arrayMax(arrayMap(text -> length(text), evidence_refs)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'policy_decision_id')), length(tupleElement(item, 'bundle_id')), ifNull(length(tupleElement(item, 'bundle_version')), 0), arrayMax(arrayMap(text -> length(text), tupleElement(item, 'rule_ids'))), length(tupleElement(item, 'verdict'))), policy_decisions)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'gate_id')), length(tupleElement(item, 'approver')), length(tupleElement(item, 'approval_mode_effective')), length(tupleElement(item, 'evidence_snapshot_hash'))), approvals)),
            arrayMax(arrayMap(text -> length(text), must_refuse)),
            arrayMax(arrayMap(text -> length(text), must_escalate)),
            arrayMax(arrayMap(text -> length(text), approval_gates_active)),
            arrayMax(arrayMap(text -> length(text), redaction_rules_active)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'tool_call_id')), length(tupleElement(item, 'tool_result_id')), length(tupleElement(item, 'approval_mode_effective')), ifNull(length(tupleElement(item, 'idempotency_key')), 0), ifNull(length(tupleElement(item, 'reversal_token')), 0)), tool_lineage)),
            ifNull(length(score_policy), 0),
            ifNull(length(score_utility), 0),
            ifNull(length(score_latency), 0),
            ifNull(length(score_safety), 0),
            ifNull(length(score_cost), 0),
            ifNull(length(budget_cost_usd_cents), 0),
            length(pack_version),
            arrayMax(arrayMap(text -> length(text), policy_versions)),
            length(decision_spec),
            length(kg_snapshot),
            length(model_profile),
            length(evaluator_suite),
            ifNull(length(replay_packet_id), 0),
            ifNull(length(compiled_context_hash), 0),
            ifNull(length(tool_transcript_chain_hash), 0),
            length(replay_last_status),
            ifNull(length(supersedes), 0),
            ifNull(length(incident_id), 0)
        );

ALTER TABLE {database}.decision_records
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(run_id),
            length(trace_id),
            length(event_id),
            length(record_id),
            length(decision_key),
            length(decision_version),
            length(status),
            length(actor_type),
            length(actor_id),
            ifNull(length(workload_identity), 0),
            ifNull(length(delegated_user_id), 0),
            ifNull(length(intent_ref), 0),
            arrayMax(arrayMap(text -> length(text), subject_ids)),
            length(input_request),
            length(input_session),
            arrayMax(arrayMap(text -> length(text), input_attachments)),
            length(outputs),
            arrayMax(arrayMap(text -> length(text), evidence_refs)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'policy_decision_id')), length(tupleElement(item, 'bundle_id')), ifNull(length(tupleElement(item, 'bundle_version')), 0), arrayMax(arrayMap(text -> length(text), tupleElement(item, 'rule_ids'))), length(tupleElement(item, 'verdict'))), policy_decisions)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'gate_id')), length(tupleElement(item, 'approver')), length(tupleElement(item, 'approval_mode_effective')), length(tupleElement(item, 'evidence_snapshot_hash'))), approvals)),
            arrayMax(arrayMap(text -> length(text), must_refuse)),
            arrayMax(arrayMap(text -> length(text), must_escalate)),
            arrayMax(arrayMap(text -> length(text), approval_gates_active)),
            arrayMax(arrayMap(text -> length(text), redaction_rules_active)),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'tool_call_id')), length(tupleElement(item, 'tool_result_id')), length(tupleElement(item, 'approval_mode_effective')), ifNull(length(tupleElement(item, 'idempotency_key')), 0), ifNull(length(tupleElement(item, 'reversal_token')), 0)), tool_lineage)),
            ifNull(length(score_policy), 0),
            ifNull(length(score_utility), 0),
            ifNull(length(score_latency), 0),
            ifNull(length(score_safety), 0),
            ifNull(length(score_cost), 0),
            ifNull(length(budget_cost_usd_cents), 0),
            length(pack_version),
            arrayMax(arrayMap(text -> length(text), policy_versions)),
            length(decision_spec),
            length(kg_snapshot),
            length(model_profile),
            length(evaluator_suite),
            ifNull(length(replay_packet_id), 0),
            ifNull(length(compiled_context_hash), 0),
            ifNull(length(tool_transcript_chain_hash), 0),
            length(replay_last_status),
            ifNull(length(supersedes), 0),
            ifNull(length(incident_id), 0),
            length(proposed_status),
            arrayMax(arrayMap(item -> greatest(length(tupleElement(item, 'rule')), length(tupleElement(item, 'code')), length(tupleElement(item, 'message'))), verdicts)),
            length(retention),
            length(log_id),
            length(prev_hash),
            length(record_hash),
            length(signed_by),
            length(signature)
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536;

ALTER TABLE {database}.violations
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(violation_id),
            length(kind),
            length(code),
            length(severity),
            length(message),
            ifNull(length(evidence), 0),
            ifNull(length(constraint_id), 0),
            length(verdict),
            length(action),
            length(trace_id),
            length(run_id),
            ifNull(length(event_id), 0),
            ifNull(length(step_id), 0),
            ifNull(length(tool_use_id), 0),
            arrayMax(arrayMap(text -> length(text), sample_event_ids))
        );

ALTER TABLE {database}.checkpoints
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(log_id),
            length(root_hash),
            length(head_hash),
            length(note),
            length(signed_by),
            ifNull(length(anchor), 0)
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536;

ALTER TABLE {database}.replays
    MODIFY COLUMN content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(agent_id),
            length(replay_id),
            length(trace_id),
            length(run_id),
            length(record_id),
            length(decision_key),
            length(decision_spec),
            length(pack_version),
            arrayMax(arrayMap(text -> length(text), policy_versions)),
            length(outcome),
            length(diffs),
            length(replayed_by)
        );

ALTER TABLE {database}.dead_letters
    ADD COLUMN IF NOT EXISTS content_bytes UInt64 MATERIALIZED
        greatest(
            length(tenant_id),
            length(dead_letter_id),
            length(source_topic),
            length(stage),
            length(component),
            length(error_type),
            length(error),
            length(value_sha256)
        )
        COMMENT 'Size of the largest single content in the row.',
    ADD CONSTRAINT IF NOT EXISTS content_is_at_most_64_kb CHECK content_bytes <= 65536;

ALTER TABLE {database}.agent_decisions
    ADD COLUMN IF NOT EXISTS recorded_at DateTime64(6, 'UTC') ALIAS occurred_at COMMENT 'When it was recorded: occurred_at by another name.',
    ADD COLUMN IF NOT EXISTS created_at DateTime64(3, 'UTC') ALIAS _ingested_at COMMENT 'When ClickHouse took the row: _ingested_at by another name.',
    ADD COLUMN IF NOT EXISTS code_characters UInt64 MATERIALIZED greatest(lengthUTF8(decision_type), lengthUTF8(reason_code)) COMMENT 'Length of the longest code in the row.',
    ADD COLUMN IF NOT EXISTS selected_characters UInt64 MATERIALIZED lengthUTF8(selected) COMMENT 'Length of the option chosen.',
    ADD CONSTRAINT IF NOT EXISTS codes_have_at_most_100_characters CHECK code_characters <= 100,
    ADD CONSTRAINT IF NOT EXISTS selected_has_1_to_200_characters CHECK selected_characters BETWEEN 1 AND 200,
    ADD CONSTRAINT IF NOT EXISTS confidence_is_between_0_and_1 CHECK ifNull(confidence, 0) BETWEEN 0 AND 1,
    ADD INDEX IF NOT EXISTS step_id_bloom step_id TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS decision_type_set decision_type TYPE set(100) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS reason_code_set reason_code TYPE set(100) GRANULARITY 1;

ALTER TABLE {database}.agent_quality_signals
    ADD COLUMN IF NOT EXISTS recorded_at DateTime64(6, 'UTC') ALIAS occurred_at COMMENT 'When it was recorded: occurred_at by another name.',
    ADD COLUMN IF NOT EXISTS created_at DateTime64(3, 'UTC') ALIAS _ingested_at COMMENT 'When ClickHouse took the row: _ingested_at by another name.',
    ADD COLUMN IF NOT EXISTS code_characters UInt64 MATERIALIZED greatest(lengthUTF8(signal_type), lengthUTF8(signal_code)) COMMENT 'Length of the longest code in the row.',
    ADD CONSTRAINT IF NOT EXISTS codes_have_at_most_100_characters CHECK code_characters <= 100,
    ADD CONSTRAINT IF NOT EXISTS weight_is_between_0_and_1 CHECK ifNull(weight, 0) BETWEEN 0 AND 1,
    ADD INDEX IF NOT EXISTS step_id_bloom step_id TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS signal_type_set signal_type TYPE set(100) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS signal_code_set signal_code TYPE set(100) GRANULARITY 1;

ALTER TABLE {database}.decision_records
    ADD COLUMN IF NOT EXISTS approvers Array(String) MATERIALIZED arrayDistinct(arrayMap(item -> tupleElement(item, 'approver'), approvals)) COMMENT 'Who opened a gate.',
    ADD COLUMN IF NOT EXISTS approval_modes Array(LowCardinality(String)) MATERIALIZED
        arrayDistinct(arrayConcat(
            arrayMap(item -> tupleElement(item, 'approval_mode_effective'), approvals),
            arrayMap(item -> tupleElement(item, 'approval_mode_effective'), tool_lineage)
        ))
        COMMENT 'Approval modes that were in effect, of gates and of side effects.',
    ADD COLUMN IF NOT EXISTS policy_decision_ids Array(String) MATERIALIZED arrayDistinct(arrayMap(item -> tupleElement(item, 'policy_decision_id'), policy_decisions)) COMMENT 'Policy decisions behind the record.',
    ADD INDEX IF NOT EXISTS status_set status TYPE set(10) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS subject_ids_bloom subject_ids TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS approvers_bloom approvers TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS approval_modes_bloom approval_modes TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS policy_decision_ids_bloom policy_decision_ids TYPE bloom_filter(0.01) GRANULARITY 1;
