"""Results of tool calls that wait for the next decision event, which says what came back to the agent."""

import threading
from collections import deque
from typing import Any, Final

_MOST: Final = 64  # results in one event
_MOST_CHARACTERS: Final = 128 * 1024  # of their outputs together; beyond that the tool call's record has it


class PendingResults:
    """Filled by tool calls, emptied by decision events."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: deque[dict[str, Any]] = deque(maxlen=_MOST)

    def add(self, **result: Any) -> None:
        """A result was handed to the agent."""
        self._results.append(result)

    def take(self) -> list[dict[str, Any]]:
        """Everything since the last decision event, oldest first."""
        with self._lock:
            taken = list(self._results)
            self._results.clear()
        room = _MOST_CHARACTERS
        for result in reversed(taken):
            room -= len(result["output"] or "")
            if room < 0:
                result["output"] = None
        return taken
