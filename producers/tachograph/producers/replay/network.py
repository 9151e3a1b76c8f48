"""No network while something is replayed: Python's own audit events are refused, whoever causes them.

An audit hook cannot be taken away again, so it is added with the first replay of a process and asks whether one is on.
Libraries that open sockets in C without Python's socket module are not seen; their results are not served either.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from tachograph.producers.replay.errors import NetworkRefusedError

_REFUSED: Final = frozenset(
    {
        "socket.connect",
        "socket.sendto",
        "socket.sendmsg",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "socket.gethostbyaddr",
    }
)
_LOCK: Final = threading.Lock()
_WATCHERS: Final[list[Callable[[], None]]] = []
_IS_HOOKED: Final = threading.Event()


@contextmanager
def refused(attempted: Callable[[], None]) -> Iterator[None]:
    """Refuse the network to the whole process inside the block; ``attempted`` is told of each attempt."""
    with _LOCK:
        if not _IS_HOOKED.is_set():
            sys.addaudithook(_hook)
            _IS_HOOKED.set()
        _WATCHERS.append(attempted)
    try:
        yield
    finally:
        with _LOCK:
            _WATCHERS.remove(attempted)


def _hook(event: str, _arguments: tuple[Any, ...]) -> None:
    if event in _REFUSED and _WATCHERS:
        for attempted in tuple(_WATCHERS):
            attempted()
        raise NetworkRefusedError(
            "there is no network while a recording is replayed: call models and tools through the run, so that they "
            "are served from the recording"
        )
