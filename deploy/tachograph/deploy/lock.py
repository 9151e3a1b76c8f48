"""One supervisor per state folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from tachograph.deploy.errors import AlreadyRunning
from tachograph.deploy.state import StateFolder


@contextmanager
def sole_owner(state: StateFolder) -> Iterator[None]:
    """Hold the folder's lock. The kernel lets go of it when this process ends, however it ends."""
    descriptor = os.open(state.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(descriptor, 32).decode(errors="replace").strip()
            raise AlreadyRunning(state.home, int(owner) if owner.isdecimal() else None) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
