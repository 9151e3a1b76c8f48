"""References to evidence, in the spelling under which the stream resolves them."""

from collections.abc import Iterable

from tachograph.schemas.canonical import sealed_bytes, sha256_hex
from tachograph.schemas.enums import ArtifactType
from tachograph.schemas.evidence import tool_reference


def tool_ref(tool_name: str, tool_use_id: str) -> str:
    """The result of a tool call. It resolves once the call has returned."""
    return tool_reference(tool_name, tool_use_id)


def artifact_ref(artifact_id: str, *, type: ArtifactType | str | None = None, sha256: str | None = None) -> str:  # noqa: A002 - the field's name
    """An artifact of the run; with its hash, exactly that content of it."""
    kind = "" if type is None else f"{type.value if isinstance(type, ArtifactType) else type}:"
    content = "" if sha256 is None else f"#sha256:{sha256.removeprefix('sha256:')}"
    return f"artifact:{kind}{artifact_id}{content}"


def frozen_hash(references: Iterable[str]) -> str:
    """Hash of a set of references: what an approver saw, whatever is attached later."""
    return "sha256:" + sha256_hex(sealed_bytes(sorted(set(references))))
