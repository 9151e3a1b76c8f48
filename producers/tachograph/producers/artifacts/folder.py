"""Artifacts in a folder of the workspace, sealed before they leave the process."""

import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Final

from tachograph.producers.artifacts.errors import ArtifactError
from tachograph.producers.artifacts.sealed import ArtifactKey, open_sealed, seal
from tachograph.schemas.models.base import ArtifactPointer

__all__ = ["FolderArtifactWriter"]

_SUFFIX: Final = re.compile(r"(?:\.[a-z0-9]{1,16})?")
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SHARD: Final = 2  # characters of the name that make the subfolder, so that no folder grows without end


def _now() -> datetime:
    return datetime.now(UTC)


class FolderArtifactWriter:
    """Keeps sealed artifacts under a folder of the workspace. Threads and processes may share the folder.

    A pointer's `hash` and `size_bytes` are those of the sealed file, so that anyone can check it without the key. The
    folder is walked down by its parts without following symbolic links: no artifact lands outside of the workspace.
    """

    def __init__(
        self,
        workspace: Path,
        folder: str = ".tachograph/artifacts",
        *,
        key: ArtifactKey | None = None,
        now: Callable[[], datetime] = _now,
    ) -> None:
        parts = _parts(folder)
        self._workspace: Final = workspace
        self._folder: Final = parts
        self._now: Final = now
        if key is None:
            with self._directory(parts):
                key = ArtifactKey.in_folder(workspace.joinpath(*parts))
        self._key: Final = key

    def __repr__(self) -> str:
        return f"FolderArtifactWriter(folder={'/'.join(self._folder)!r}, key={self._key!r})"

    def put(self, data: bytes, *, suffix: str = "") -> ArtifactPointer:
        """Seal the bytes and store them; on return they are on disk. Raises ArtifactError."""
        if not _SUFFIX.fullmatch(suffix):
            raise ArtifactError("the suffix of an artifact is a dot and up to 16 lower-case letters or digits")
        name = self._key.name(data)
        sealed = seal(self._key, data)
        parts = (*self._folder, name[:_SHARD])
        file = f"{name}{suffix}.sealed"
        with self._directory(parts) as directory:
            _replace(directory, file, sealed)
        return ArtifactPointer(
            artifact_id=name,
            path="/".join((*parts, file)),
            hash=hashlib.sha256(sealed).hexdigest(),
            size_bytes=len(sealed),
            created_at=self._now(),
        )

    def get(self, pointer: ArtifactPointer) -> bytes:
        """Return the content a pointer leads to. Raises ArtifactError if it is gone, changed or for another key."""
        *parts, file = _parts(pointer.path)
        with self._directory(tuple(parts), create=False) as directory:
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
            with os.fdopen(descriptor, "rb") as stored:
                sealed = stored.read(pointer.size_bytes + 1)
        if hashlib.sha256(sealed).hexdigest() != pointer.hash:
            raise ArtifactError("the stored artifact is not the one the pointer was made for")
        return open_sealed(self._key, sealed)

    @contextmanager
    def _directory(self, parts: tuple[str, ...], *, create: bool = True) -> Iterator[int]:
        """Open a folder below the workspace, part by part. A symbolic link on the way is refused."""
        descriptors = []
        try:
            descriptors.append(os.open(self._workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            for part in parts:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o700, dir_fd=descriptors[-1])
                descriptors.append(os.open(part, _DIRECTORY, dir_fd=descriptors[-1]))
            yield descriptors[-1]
        except OSError as error:
            raise ArtifactError(f"the artifact folder cannot be used: {error.strerror}") from None
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


def _parts(path: str) -> tuple[str, ...]:
    pure = PurePosixPath(path)
    if not pure.parts or pure.is_absolute() or ".." in pure.parts or str(pure) != path or "\\" in path or "\0" in path:
        raise ArtifactError("an artifact path is relative to the workspace, without '..', in normal form")
    return pure.parts


def _replace(directory: int, file: str, data: bytes) -> None:
    """Write beside the file and rename: a reader sees the whole artifact or none."""
    draft = f".{secrets.token_hex(8)}.draft"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(draft, flags, 0o600, dir_fd=directory)
    try:
        with os.fdopen(descriptor, "wb") as stored:
            stored.write(data)
            stored.flush()
            os.fsync(stored.fileno())
        os.rename(draft, file, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError:
        os.unlink(draft, dir_fd=directory)
        raise
    os.fsync(directory)
