"""Names in records: redacted and cut by the capture policy, remembered because they repeat."""

import threading
from typing import Final, Protocol

_MOST: Final = 4096  # names kept; an agent has some tools and steps, and chunk ids that never come back
_LONGEST: Final = 512  # longer ones are not kept: they are not names


class Labeller(Protocol):
    """What makes a name fit for a record; the capture policy does."""

    def label(self, text: str, limit: int = 256) -> str:
        """The name, redacted and cut."""


class Labels:
    """The policy's labels with a memory: a redaction costs 10 µs or more, a look-up 0.1."""

    def __init__(self, policy: Labeller) -> None:
        self._policy = policy
        self._known: dict[tuple[str, int], str] = {}
        self._lock = threading.Lock()

    def __call__(self, text: str, limit: int = 256) -> str:
        """The name as it may be stored."""
        key = (text, limit)
        try:
            return self._known[key]
        except KeyError:
            pass
        label = self._policy.label(text, limit)
        if len(text) <= _LONGEST:
            with self._lock:
                if len(self._known) >= _MOST:
                    self._known.clear()
                self._known[key] = label
        return label
