"""What a forked child must do with what it inherits.

The lock of the parent's spool folder is shared by every copy of its descriptor, the producer's threads do not exist in
the child, and another thread may have held any of our locks. So the child closes, abandons and starts afresh.
"""

import os
import weakref
from typing import Any, Final, Protocol


class Forkable(Protocol):
    """A publisher, as seen by a fork."""

    def before_fork(self) -> None:
        """Let no append be half done."""

    def after_fork_in_parent(self) -> None:
        """Go on."""

    def after_fork_in_child(self) -> None:
        """Start afresh."""


_publishers: Final["weakref.WeakSet[Any]"] = weakref.WeakSet()
_registered: list[bool] = []


def follow_forks(publisher: Forkable) -> None:
    """Tell a publisher about forks for as long as it lives."""
    if not _registered:
        # Handlers cannot be taken back, so there is one set for all publishers.
        _registered.append(True)
        os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
    _publishers.add(publisher)


_held: Final[list[Forkable]] = []


def _before() -> None:
    _held[:] = list(_publishers)
    for publisher in _held:
        publisher.before_fork()


def _in_parent() -> None:
    for publisher in _held:
        publisher.after_fork_in_parent()
    _held.clear()


def _in_child() -> None:
    for publisher in _held:
        publisher.after_fork_in_child()
    _held.clear()


def abandon(thing: object) -> None:
    """Make an object immortal: the destructor of an inherited Kafka client waits for threads that do not exist."""
    import ctypes  # noqa: PLC0415 - only ever needed in a forked child

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
