"""The artifact folder of the current workspace, opened when the first large content needs it."""

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tachograph.producers.artifacts.folder import FolderArtifactWriter
    from tachograph.schemas.models.base import ArtifactPointer


class WorkspaceArtifacts:
    """What a tracer stores large content with unless told otherwise: ``.tachograph/artifacts`` of the working folder.

    Nothing is created, and no key is made, before there is something to keep.
    """

    def __init__(self, workspace: Path | None = None) -> None:
        self._workspace = workspace
        self._lock = Lock()
        self._writer: FolderArtifactWriter | None = None

    def put(self, data: bytes, *, suffix: str = "") -> "ArtifactPointer":
        """Seal the bytes and store them. Raises ArtifactError, and tries again next time."""
        return self._opened().put(data, suffix=suffix)

    def _opened(self) -> "FolderArtifactWriter":
        from tachograph.producers.artifacts.folder import FolderArtifactWriter  # noqa: PLC0415 - brings pydantic

        with self._lock:
            if self._writer is None:
                self._writer = FolderArtifactWriter(self._workspace or Path.cwd())
            return self._writer
