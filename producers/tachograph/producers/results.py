"""Results of tool calls that wait for the next decision event, which says what came back to the agent."""

import threading
from collections import deque
from typing import Any, Final

from tachograph.producers.late_capture import LateCapture
from tachograph.producers.pointers import pair

_Late = tuple[str, str, LateCapture, int]
_MOST: Final = 64  # results in one event
_MOST_CHARACTERS: Final = 128 * 1024  # of their outputs together; beyond that the tool call's record has it


class PendingResults:
    """Filled by tool calls, emptied by decision events."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: deque[dict[str, Any] | _Late] = deque(maxlen=_MOST)

    def add(self, **result: Any) -> None:
        """A result was handed to the agent."""
        self._results.append(result)

    def add_late(self, tool_call_id: str, name: str, output: LateCapture, duration_ms: int) -> None:
        """A result whose output is captured when it is needed."""
        self._results.append((tool_call_id, name, output, duration_ms))

    def take(self) -> list[dict[str, Any]]:
        """Everything since the last decision event, oldest first."""
        with self._lock:
            waiting = list(self._results)
            self._results.clear()
        taken = [_made(result) if isinstance(result, tuple) else result for result in waiting]
        room = _MOST_CHARACTERS
        for result in reversed(taken):
            room -= len(result["output"] or "")
            if room < 0:
                result["output"] = None
        return taken


def _made(late: _Late) -> dict[str, Any]:
    tool_call_id, name, content, duration_ms = late
    output, pointer = pair(content.get())
    return {
        "tool_call_id": tool_call_id,
        "name": name,
        "output": output,
        "output_pointer": pointer,
        "is_error": False,
        "duration_ms": duration_ms,
    }
