"""Names inside the store. Every path is relative to its root, in normal form, and stays below it."""

import stat
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import quote

from tachograph.sinks.artifacts.errors import UnsafePathError

__all__ = ["blob_path", "checked", "checked_in", "entry_path", "subject_path", "tenant_folder"]

_SHARD: Final = 2  # characters of the name that make the subfolder, so that no folder grows without end
_HEX: Final = frozenset("0123456789abcdef")
_ID_DIGITS: Final = 64


def checked(path: str) -> str:
    """The path, if it is relative and in normal form. Raises UnsafePathError."""
    pure = PurePosixPath(path)
    if not pure.parts or pure.is_absolute() or ".." in pure.parts or str(pure) != path or "\\" in path or "\0" in path:
        raise UnsafePathError("an artifact path is relative, without '..', in normal form; this one is not")
    return path


def checked_in(root: Path, path: str) -> str:
    """The path, if nothing on the way to it below ``root`` is a symbolic link. Raises UnsafePathError."""
    place = root
    for part in PurePosixPath(checked(path)).parts:
        place /= part
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            break
        if stat.S_ISLNK(mode):
            raise UnsafePathError("a symbolic link is in the way of an artifact; remove the link from the store")
    return path


def tenant_folder(tenant_id: str) -> str:
    """Folder of one tenant. Two tenants never share one, whatever their names are."""
    return f"tenants/{quote(tenant_id, safe='').replace('.', '%2E')}"


def blob_path(tenant_id: str, artifact_id: str) -> str:
    """Where the sealed bytes are."""
    return f"{tenant_folder(tenant_id)}/blobs/{_name(artifact_id)}.sealed"


def entry_path(tenant_id: str, artifact_id: str) -> str:
    """Where it says what the bytes are; after their removal, the tombstone."""
    return f"{tenant_folder(tenant_id)}/entries/{_name(artifact_id)}.json"


def subject_path(tenant_id: str, subject_name: str) -> str:
    """Where a subject's wrapped data key is. ``subject_name`` is a keyed hash."""
    return f"{tenant_folder(tenant_id)}/subjects/{_name(subject_name)}.json"


def _name(hexadecimal: str) -> str:
    if len(hexadecimal) != _ID_DIGITS or not _HEX.issuperset(hexadecimal):
        raise UnsafePathError("an artifact id has 64 hexadecimal digits; `tachograph artifacts ls` lists them")
    return f"{hexadecimal[:_SHARD]}/{hexadecimal}"
