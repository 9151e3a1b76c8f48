"""Artifact pointers as records carry them."""

from typing import TYPE_CHECKING, Any

from tachograph.producers.capture import Captured

if TYPE_CHECKING:  # brings pydantic, which a run without artifacts does not need
    from tachograph.schemas.models.base import ArtifactPointer


def pointer_body(pointer: "ArtifactPointer | None") -> dict[str, Any] | None:
    """Plain Avro form of a pointer."""
    if pointer is None:
        return None
    from tachograph.schemas.wire.convert import to_avro  # noqa: PLC0415 - not at import: it would double the cost

    return to_avro(pointer)


def pair(captured: Captured | None) -> tuple[str | None, dict[str, Any] | None]:
    """Content and pointer: one of them, or neither where there is no content."""
    if captured is None:
        return None, None
    return captured.inline, pointer_body(captured.pointer)
