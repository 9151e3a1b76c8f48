"""ContextManifest: what was in the context of a step, what was left out, and why. Pointers and hashes, never blobs."""

from typing import Annotated

from pydantic import Field, model_validator

from tachograph.schemas.enums import ContextItemType, ExcludedReason, IncludedReason
from tachograph.schemas.models.base import (
    ArtifactPointer,
    Count,
    Frozen,
    Identifier,
    JsonObject,
    Metadata,
    Record,
    Sha256,
)


class IncludedItem(Frozen):
    """Something the model saw."""

    item_id: Identifier
    """Chunk, artifact or evidence id."""
    item_type: ContextItemType
    source_ref: Annotated[str, Field(min_length=1, max_length=1024)]
    """Pointer to where it came from."""
    included_reason: IncludedReason
    tokens: Count | None = None
    score: float | None = None
    hash: Sha256 | None = None


class ExcludedItem(Frozen):
    """Something that was considered and left out."""

    item_id: Identifier
    item_type: ContextItemType
    excluded_reason: ExcludedReason
    source_ref: Annotated[str, Field(max_length=1024)] | None = None
    tokens: Count | None = None
    score: float | None = None


class TokenBudget(Frozen):
    """How much the context could hold and what was used."""

    limit: Count
    used: Count
    by_source: dict[str, Count] = Field(default_factory=dict)
    """Tokens by item type."""


class ContextManifest(Record):
    """One per step, by default and without exception."""

    manifest_id: Identifier
    step_id: Identifier
    snapshot_id: Identifier
    """Names the state of the context; the snapshot artifact exists only if a fault asked for it."""
    intent: JsonObject
    retrieval_query: Annotated[str, Field(max_length=4096)] | None
    """In the run's capture mode; null where nothing was retrieved."""
    candidate_chunk_ids: tuple[str, ...]
    selected_chunk_ids: tuple[str, ...]
    reranker_model: str | None
    reranker_version: str | None
    token_budget: TokenBudget
    compiler_version: Identifier
    prefix_hash: Sha256
    prefix_length: Count
    included: tuple[IncludedItem, ...]
    excluded: tuple[ExcludedItem, ...]
    prompt_snapshot: ArtifactPointer | None = None
    tool_output_snapshots: tuple[ArtifactPointer, ...] = ()
    metadata: Metadata = Field(default_factory=dict)

    @model_validator(mode="after")
    def _selected_were_candidates(self) -> "ContextManifest":
        if not set(self.selected_chunk_ids) <= set(self.candidate_chunk_ids):
            raise ValueError("what was selected was among the candidates")
        return self
