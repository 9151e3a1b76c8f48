"""Content in its captured form, for comparison only: nothing is written."""

import hashlib
from datetime import UTC, datetime
from typing import Any

from tachograph.producers.capture import CapturePolicy
from tachograph.schemas.enums import CaptureMode
from tachograph.schemas.models.base import ArtifactPointer
from tachograph.schemas.recording import text_hash

_THEN = datetime.fromtimestamp(0, UTC)


class Kept:
    """An artifact writer that keeps large content in memory as long as the replay lives."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def put(self, data: bytes, *, suffix: str = "") -> ArtifactPointer:
        """Keep it."""
        name = hashlib.sha256(data).hexdigest()
        self._kept[name] = data
        return ArtifactPointer(
            artifact_id=name, path=f"replay/{name}{suffix}", hash=name, size_bytes=len(data), created_at=_THEN
        )

    def get(self, artifact_id: str) -> str:
        """What was kept."""
        return self._kept[artifact_id].decode()


class Comparing:
    """A run's capture policy, made to write nothing."""

    def __init__(self, policy: CapturePolicy) -> None:
        self._kept = Kept()
        self.policy = CapturePolicy(policy.mode, policy.redactor, writer=self._kept)

    def text(self, text: str, mode: CaptureMode) -> str:
        """Hash of a text in a mode."""
        return self._hash(self.policy.with_mode(mode).text(text))

    def value(self, value: Any, mode: CaptureMode) -> str:
        """Hash of any value in a mode."""
        return self._hash(self.policy.with_mode(mode).value(value))

    def _hash(self, captured: Any) -> str:
        pointer = captured.pointer
        return text_hash(captured.text if pointer is None else self._kept.get(pointer.artifact_id))
