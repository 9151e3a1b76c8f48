"""Rows of context_manifests and context_items: what was in the context, what was left out, and why."""

from tachograph.processors.rows.shared import Record, Row, Rows, artifact_id, artifact_ids, identity, metadata_text


def context_manifest(record: Record, append_time: int) -> Rows:
    """One row for the manifest, then one for every item that was in or out, in the manifest's order."""
    common = identity(record, append_time)
    included, excluded = record["included"], record["excluded"]
    ids = {"manifest_id": record["manifest_id"], "step_id": record["step_id"]}
    rows: Rows = [("context_manifests", common | ids | _manifest(record, len(included), len(excluded)))]
    item = common | ids
    rows.extend(("context_items", item | _included(entry, position)) for position, entry in enumerate(included))
    rows.extend(
        ("context_items", item | _excluded(entry, position))
        for position, entry in enumerate(excluded, start=len(included))
    )
    return rows


def _manifest(record: Record, included: int, excluded: int) -> Row:
    budget = record["token_budget"]
    return {
        "snapshot_id": record["snapshot_id"],
        "intent": record["intent"],
        "retrieval_query": record["retrieval_query"],
        "candidate_chunk_ids": record["candidate_chunk_ids"],
        "selected_chunk_ids": record["selected_chunk_ids"],
        "reranker_model": record["reranker_model"],
        "reranker_version": record["reranker_version"],
        "token_limit": budget["limit"],
        "tokens_used": budget["used"],
        "tokens_by_source": budget["by_source"],
        "compiler_version": record["compiler_version"],
        "prefix_hash": record["prefix_hash"],
        "prefix_length": record["prefix_length"],
        "included": included,
        "excluded": excluded,
        "prompt_snapshot_artifact_id": artifact_id(record["prompt_snapshot"]),
        "tool_output_snapshot_artifact_ids": artifact_ids(record["tool_output_snapshots"]),
        "metadata": metadata_text(record["metadata"]),
    }


def _included(entry: Record, position: int) -> Row:
    return {
        "position": position,
        "is_included": True,
        "item_id": entry["item_id"],
        "item_type": entry["item_type"],
        "source_ref": entry["source_ref"],
        "reason": entry["included_reason"],
        "tokens": entry["tokens"],
        "score": entry["score"],
        "hash": entry["hash"],
    }


def _excluded(entry: Record, position: int) -> Row:
    return {
        "position": position,
        "is_included": False,
        "item_id": entry["item_id"],
        "item_type": entry["item_type"],
        "source_ref": entry["source_ref"],
        "reason": entry["excluded_reason"],
        "tokens": entry["tokens"],
        "score": entry["score"],
        "hash": None,
    }
