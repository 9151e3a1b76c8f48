"""Tables of what was in the context, what was left out, and what a fault kept whole."""

from typing import Final

from tachograph.schemas.models.derived import Snapshot
from tachograph.schemas.tables.kinds import (
    FLAG,
    MAYBE_FLOAT,
    MAYBE_NUMBER,
    MAYBE_TEXT,
    NUMBER,
    NUMBERS_BY_WORD,
    TEXT,
    TEXTS,
    WORD,
    Column,
    Table,
    columns_of,
)
from tachograph.schemas.tables.shared import IDENTITY, METADATA_COLUMN

CONTEXT_MANIFESTS: Final = Table(
    "context_manifests",
    "What was in the context of each step. Its items are in context_items.",
    (
        *IDENTITY,
        Column("manifest_id", TEXT, "Manifest."),
        Column("step_id", TEXT, "Step."),
        Column("snapshot_id", TEXT, "Names the state of the context."),
        Column("intent", TEXT, "Intent object as JSON text."),
        Column("retrieval_query", MAYBE_TEXT, "Query in the run's capture mode."),
        Column("candidate_chunk_ids", TEXTS, "Chunks considered."),
        Column("selected_chunk_ids", TEXTS, "Chunks chosen."),
        Column("reranker_model", MAYBE_TEXT, "Reranker."),
        Column("reranker_version", MAYBE_TEXT, "Its version."),
        Column("token_limit", NUMBER, "Tokens the context could hold."),
        Column("tokens_used", NUMBER, "Tokens it held."),
        Column("tokens_by_source", NUMBERS_BY_WORD, "Tokens by item type."),
        Column("compiler_version", WORD, "Version of the context compiler."),
        Column("prefix_hash", TEXT, "Hash of the cacheable prefix."),
        Column("prefix_length", NUMBER, "Its length."),
        Column("included", NUMBER, "Items included."),
        Column("excluded", NUMBER, "Items considered and left out."),
        Column("prompt_snapshot_artifact_id", MAYBE_TEXT, "Prompt snapshot, if a fault asked for one."),
        Column("tool_output_snapshot_artifact_ids", TEXTS, "Tool output snapshots."),
        METADATA_COLUMN,
    ),
)

CONTEXT_ITEMS: Final = Table(
    "context_items",
    "Every item that was in a step's context or was left out of it, and why.",
    (
        *IDENTITY,
        Column("manifest_id", TEXT, "Manifest."),
        Column("step_id", TEXT, "Step."),
        Column("position", NUMBER, "Place in the manifest."),
        Column("is_included", FLAG, "In the context, or left out."),
        Column("item_id", TEXT, "Chunk, artifact or evidence."),
        Column("item_type", WORD, "Where it comes from."),
        Column("source_ref", MAYBE_TEXT, "Pointer to its origin."),
        Column("reason", TEXT, "Why it is in or out."),
        Column("tokens", MAYBE_NUMBER, "Tokens."),
        Column("score", MAYBE_FLOAT, "Reranker's score."),
        Column("hash", MAYBE_TEXT, "SHA-256 of the item."),
    ),
)

SNAPSHOTS: Final = Table(
    "snapshots",
    "Prompts and tool outputs stored because of a fault, and those that could not be.",
    columns_of(Snapshot, words=frozenset({"tenant_id", "agent_id"})),
)
