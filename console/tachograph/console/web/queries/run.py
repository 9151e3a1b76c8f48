"""Everything that was recorded of one run. Content is asked for only if it may be shown."""

from typing import Any, Final

from tachograph.console.web.database import Row, TenantDatabase

MOST: Final = 2000
"""Rows of one kind that a page shows. A run with more says so and names the query page."""

_OF_RUN: Final = "tenant_id = {tenant:String} AND run_id = {run:String}"


def header(database: TenantDatabase, run_id: str) -> Row | None:
    """The run itself; None if this tenant has none of that name."""
    return database.one(
        f"""
SELECT run_id, agent_id, trace_id, session_id, agent_version, environment, capture_mode, status, request_id, channel,
    repo, branch, ticket_id, parent_run_id, sdk, started_at, ended_at, duration_ms, emitted, received, dropped,
    input_tokens, output_tokens, error_type, completeness, missing, tool_calls, tool_calls_joined, repeats,
    first_seen_at, last_seen_at
FROM runs WHERE {_OF_RUN}
""",  # noqa: S608 - ours
        run=run_id,
    )


def parts(database: TenantDatabase, run_id: str, *, content: bool) -> dict[str, list[Row]]:
    """Every list of the page, by name."""
    asked = {name: _sql(name, content=content) for name in _LISTS}
    found = database.together(*(_question(database, sql, run_id) for sql in asked.values()))
    return dict(zip(asked, found, strict=True))


def _question(database: TenantDatabase, sql: str, run_id: str) -> Any:
    return lambda: database.ask(sql, run=run_id)


def _sql(name: str, *, content: bool) -> str:
    table, shown, captured, order = _LISTS[name]
    columns = f"{shown}, {captured}" if content and captured else shown
    return f"SELECT {columns} FROM {table} WHERE {_OF_RUN} ORDER BY {order} LIMIT {MOST}"  # noqa: S608 - ours


_LISTS: Final = {
    "request": (
        "agent_runs",
        "length(user_request_raw) AS request_size, constraints",
        "user_request_raw",
        "(length(user_request_raw) > 0, received_at, _offset) DESC",
    ),
    "steps": (
        "steps",
        (
            "step_id, parent_step_id, span_id, step_type, name, status, duration_ms, error_type, first_seen_at, "
            "last_seen_at, first_seq"
        ),
        "",
        "first_seq",
    ),
    "events": (
        "decision_events",
        (
            "event_id, seq, occurred_at, step_id, provider, model, capture_mode, prompt_bundle_hash, sent_hash, "
            "length(messages) AS message_count, arraySum(arrayMap(m -> length(m.content), messages)) AS prompt_size, "
            "length(ifNull(output_raw, '')) AS output_size, arrayMap(c -> c.name, tool_calls) AS called, "
            "arrayMap(a -> (a.type, a.path, a.lines_added, a.lines_removed, a.exit_code), artifacts) AS made, "
            "input_tokens, output_tokens, latency_ms, action_type, overrides_event_id"
        ),
        "action_summary",
        "seq",
    ),
    "tools": (
        "tool_calls",
        (
            "tool_use_id, tool_name, leg, step_id, parent_tool_use_id, attribution, phase, depth, capture_mode, "
            "length(ifNull(tool_input, '')) AS input_size, length(ifNull(output, '')) AS output_size, duration_ms, "
            "latency_ms, error_type, skipped, hook_action, requested, "
            "arrayMap(h -> (h.hook, h.stage, h.action), hooks) AS hooked, "
            "requested_at, started_at, finished_at, occurred_at, seq, result_is_error, complete, missing, "
            "closed_by"
        ),
        "tool_input, output, error",
        "ifNull(started_at, occurred_at), seq",
    ),
    "decisions": (
        "agent_decisions",
        "decision_id, step_id, decision_type, selected, reason_code, candidates, confidence, metadata, occurred_at",
        "",
        "seq",
    ),
    "signals": (
        "agent_quality_signals",
        "signal_id, step_id, signal_type, signal_code, value, weight, metadata, occurred_at",
        "",
        "signal_type, seq",
    ),
    "manifests": (
        "context_manifests",
        (
            "manifest_id, step_id, snapshot_id, token_limit, tokens_used, tokens_by_source, compiler_version, "
            "prefix_hash, prefix_length, reranker_model, reranker_version, length(candidate_chunk_ids) AS considered, "
            "length(selected_chunk_ids) AS chosen, included, excluded, occurred_at"
        ),
        "intent, retrieval_query",
        "seq",
    ),
    "items": (
        "context_items",
        "manifest_id, position, is_included, item_id, item_type, source_ref, reason, tokens, score, hash",
        "",
        "manifest_id, position",
    ),
    "violations": (
        "violations",
        (
            "DISTINCT violation_id, kind, code, severity, message, constraint_id, verdict, action, event_id, step_id, "
            "tool_use_id, occurred_at, isNotNull(evidence) AS has_evidence"
        ),
        "evidence",
        "occurred_at, code",
    ),
    "failures": (
        "agent_failures",
        (
            "failure_id, kind, step_id, error_type, trigger, tool_use_id, missing_pointer, dropped, drop_reason, "
            "dropped_types, occurred_at, length(message) AS message_size"
        ),
        "message",
        "occurred_at, seq",
    ),
    "snapshots": (
        "snapshot_pointers",
        (
            "snapshot_id, step_id, tool_use_id, kind, trigger, occurred_at, stored, artifact_id, path, hash, "
            "size_bytes, created_at, deleted_at, retention"
        ),
        "",
        "occurred_at, snapshot_id",
    ),
    "proposals": (
        "record_proposals",
        "DISTINCT record_id, decision_key, decision_version, status, is_primary, actor_type, actor_id, occurred_at",
        "",
        "occurred_at",
    ),
    "records": (
        "decision_records",
        (
            "DISTINCT record_id, decision_key, decision_version, status, proposed_status, is_primary, actor_type, "
            "actor_id, log_id, log_seq, record_hash, signed_by, sealed_at"
        ),
        "",
        "log_seq",
    ),
    "evaluations": (
        "evaluations",
        "event_id, alignment_status, alignment_score, quality_status, quality_score, policy_status, policy_score",
        "",
        "seq",
    ),
}
"""Table, columns that anybody may see, columns with captured content, order."""
