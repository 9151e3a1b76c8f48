"""The system calls of the spool, as one seam: a test hands in a disk that is full."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PRIVATE: Final = 0o600


def _open(path: Path, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, _PRIVATE)


def _mkdir(path: Path) -> None:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


@dataclass(frozen=True, slots=True)
class Files:
    """What the spool asks of the operating system. Each raises OSError as ``os`` does."""

    mkdir: Callable[[Path], None] = _mkdir
    open: Callable[[Path, int], int] = _open
    write: Callable[[int, bytes], int] = os.write
    pwrite: Callable[[int, bytes, int], int] = os.pwrite
    pread: Callable[[int, int, int], bytes] = os.pread
    truncate: Callable[[int, int], None] = os.ftruncate
    sync: Callable[[int], None] = os.fdatasync
    close: Callable[[int], None] = os.close
    unlink: Callable[[Path], None] = os.unlink

    def sync_folder(self, folder: Path) -> None:
        """Make names in a folder survive loss of power."""
        fd = self.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self.sync(fd)
        finally:
            self.close(fd)


OS_FILES: Final = Files()
