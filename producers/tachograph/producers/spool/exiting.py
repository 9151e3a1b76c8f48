"""Publishers that nobody closed are closed when the interpreter exits."""

import atexit
import weakref
from typing import Any, Final, Protocol


class Closable(Protocol):
    """A publisher, as seen by the interpreter's exit."""

    def close_at_exit(self) -> None:
        """Send what can be sent in the time that exit may take."""


_publishers: Final["weakref.WeakSet[Any]"] = weakref.WeakSet()


def close_at_exit(publisher: Closable) -> None:
    """Close it at exit, if it is still there."""
    _publishers.add(publisher)


@atexit.register
def _close_all() -> None:
    # Before the interpreter stops daemon threads, so the sender is still there to be waited for.
    for publisher in list(_publishers):
        publisher.close_at_exit()
