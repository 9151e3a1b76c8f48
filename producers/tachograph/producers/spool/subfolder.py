"""Each process has a folder of its own inside the spool's, and holds its lock for as long as it lives.

The lock is ``flock``: the kernel lets go of it when the process dies, however it dies. A folder appears under its name
only when its lock is held, so nobody can mistake one in the making for an orphan.
"""

import contextlib
import fcntl
import os
import re
import time
from pathlib import Path
from typing import Final

from tachograph.producers.spool.cursor import SUFFIX as CURSOR_SUFFIX
from tachograph.producers.spool.files import Files
from tachograph.producers.spool.identity import SPOOL_ID_SIZE
from tachograph.producers.spool.segment import segments_in

LOCK: Final = "lock"
_NAME = re.compile(rf"[0-9a-f]{{{2 * SPOOL_ID_SIZE}}}")
_UNBORN: Final = ".new-"
_UNBORN_MAX_AGE_S: Final = 60.0


class Subfolder:
    """A spool folder whose lock this process holds."""

    def __init__(self, files: Files, path: Path, lock_fd: int) -> None:
        self._files = files
        self.path = path
        self.spool = bytes.fromhex(path.name)
        self._lock_fd: int | None = lock_fd

    @classmethod
    def create(cls, files: Files, root: Path, *, durable: bool = False) -> "Subfolder":
        """A new one for this process. Raises OSError if the folder is unusable."""
        files.mkdir(root)
        spool = os.urandom(SPOOL_ID_SIZE)
        unborn = root / f"{_UNBORN}{spool.hex()}"
        files.mkdir(unborn)
        fd = files.open(unborn / LOCK, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            files.write(fd, f"{os.getpid()}\n".encode())
            path = root / spool.hex()
            unborn.rename(path)
            if durable:
                files.sync_folder(root)
        except OSError:
            files.close(fd)
            raise
        return cls(files, path, fd)

    @classmethod
    def adopt(cls, files: Files, path: Path) -> "Subfolder | None":
        """Take over the folder of a dead process; None if its owner lives or another adopter was first."""
        try:
            fd = files.open(path / LOCK, os.O_RDWR)
        except OSError:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_nlink > 0:  # 0: emptied and removed between our open and our lock
                return cls(files, path, fd)
        except OSError:
            pass
        files.close(fd)
        return None

    def release(self) -> None:
        """Let go of the lock, also for copies of it in forked children; what is in the folder is an orphan now."""
        if self._lock_fd is not None:
            fcntl.flock(self._lock_fd, fcntl.LOCK_UN)
            self.close_inherited()

    def close_inherited(self) -> None:
        """In a forked child: close our copy and leave the lock to the parent."""
        if self._lock_fd is not None:
            self._files.close(self._lock_fd)
            self._lock_fd = None

    def remove(self) -> None:
        """Delete the folder if no segment is left in it, and let go of the lock."""
        with contextlib.suppress(OSError):
            if not segments_in(self.path):
                for path in self.path.glob(f"*{CURSOR_SUFFIX}"):
                    self._files.unlink(path)
                # The lock goes last: until then nobody else can take the folder for an orphan.
                self._files.unlink(self.path / LOCK)
                self.path.rmdir()
        self.release()


def subfolders(root: Path) -> list[Path]:
    """Every process's folder, oldest first."""
    try:
        return sorted((path for path in root.iterdir() if _NAME.fullmatch(path.name)), key=_made_at)
    except OSError:
        return []


def _made_at(path: Path) -> float:
    try:
        return (path / LOCK).stat().st_mtime
    except OSError:
        return 0.0


def owner_alive(path: Path) -> bool:
    """Whether some process holds the lock of a folder."""
    try:
        fd = os.open(path / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def sweep_unborn(root: Path) -> None:
    """Remove what a process left that died while it made its folder."""
    try:
        unborn = [path for path in root.iterdir() if path.name.startswith(_UNBORN)]
    except OSError:
        return
    for path in unborn:
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _UNBORN_MAX_AGE_S and not owner_alive(path):
                (path / LOCK).unlink(missing_ok=True)
                path.rmdir()
