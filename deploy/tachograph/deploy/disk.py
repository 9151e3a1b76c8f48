"""Enough room on the disk, asked before anything is written."""

import shutil
from collections.abc import Callable
from pathlib import Path

from tachograph.deploy.errors import DiskFull

# An idle stack takes 2 MB; what grows is the traffic. Kafka stops for good when a write fails, and ClickHouse wants
# room for the copy that a merge makes, so both are kept away from the last GiB.
MIN_FREE_BYTES = 1 << 30

FreeBytes = Callable[[Path], int]


def free_bytes(folder: Path) -> int:
    """Bytes this user may still write on the disk that holds the folder."""
    return shutil.disk_usage(folder).free


def require_room(folder: Path, free: FreeBytes = free_bytes) -> None:
    """Refuse to start on a disk that is nearly full."""
    available = free(folder)
    if available < MIN_FREE_BYTES:
        raise DiskFull(
            f"only {available >> 20} MiB are free on the disk of {folder}, and the stack needs {MIN_FREE_BYTES >> 20}. "
            "Make room, or set TACHOGRAPH_HOME to a folder on another disk. Nothing was started."
        )
