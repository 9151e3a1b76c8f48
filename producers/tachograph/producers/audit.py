"""The audit trail: two files of JSON lines for each session, for ``cat``, ``grep`` and ``jq``.

``events.jsonl`` has the session's frame and what happened in it; ``tool_calls.jsonl`` has a line when a tool call
starts and one when it completes. Previews are given in their captured form and cut at 500 characters. A file that
cannot be written costs the trail a line, never the agent anything.
"""

import threading
from pathlib import Path
from typing import IO, Any, Final

import orjson

from tachograph.producers.clock import Clock, SystemClock
from tachograph.producers.guard import Guard
from tachograph.producers.hooks.types import ToolUseContext
from tachograph.producers.run_messages import rfc3339

DEFAULT_FOLDER: Final = Path(".tachograph/audit")
PREVIEW_LIMIT: Final = 500
_UNSAFE: Final = str.maketrans({"/": "_", "\\": "_", "\x00": "_"})


def preview(text: str | None) -> str | None:
    """At most 500 characters; a cut text ends in three dots."""
    if text is None or len(text) <= PREVIEW_LIMIT:
        return text
    return text[: PREVIEW_LIMIT - 3] + "..."


class AuditTrail:
    """Trail of one session. Lines are flushed as they are written."""

    def __init__(
        self,
        session_id: str,
        base_dir: Path | None = None,
        *,
        clock: Clock | None = None,
        guard: Guard | None = None,
    ) -> None:
        self.session_id = session_id
        safe = session_id.translate(_UNSAFE)
        self.session_dir = (base_dir or DEFAULT_FOLDER) / (safe if safe.strip(".") else "_")
        self.events_file = self.session_dir / "events.jsonl"
        self.tool_calls_file = self.session_dir / "tool_calls.jsonl"
        self._clock = clock or SystemClock()
        self._guard = guard or Guard(strict=False)
        self._lock = threading.Lock()
        self._files: dict[Path, IO[bytes]] = {}
        try:
            self.session_dir.mkdir(parents=True, exist_ok=True)
            for path in (self.events_file, self.tool_calls_file):
                self._files[path] = path.open("ab", buffering=0)
        except OSError as error:
            self._guard.note("audit trail", type(error).__name__)
        self._write(self.events_file, {"event": "session_start", "session_id": session_id}, None)

    def log_event(self, event: str, data: dict[str, Any], *, at: int | None = None) -> None:
        """Something happened. ``data`` must be in its captured form."""
        self._write(self.events_file, {"event": event, "data": data}, at)

    def log_tool_start(self, context: ToolUseContext, captured_input: str | None, *, at: int | None = None) -> None:
        """A tool call starts."""
        line = {
            "event": "tool_call_start",
            "tool_use_id": context.tool_use_id,
            "tool_name": context.tool_name,
            "task_id": context.task_id,
            "parent_tool_use_id": context.parent_tool_use_id,
            "phase": context.phase,
            "input_preview": preview(captured_input),
        }
        self._write(self.tool_calls_file, line, at)

    def log_tool_complete(
        self,
        context: ToolUseContext,
        captured_output: str | None,
        duration_ms: int,
        error: str | None = None,
        *,
        at: int | None = None,
    ) -> None:
        """A tool call has ended. ``error`` is None exactly if it succeeded."""
        line = {
            "event": "tool_call_complete",
            "tool_use_id": context.tool_use_id,
            "tool_name": context.tool_name,
            "success": error is None,
            "duration_ms": duration_ms,
            "output_preview": preview(captured_output),
            "error": preview(error),
        }
        self._write(self.tool_calls_file, line, at)

    def log_tool_call(
        self,
        context: ToolUseContext,
        *,
        captured_input: str | None,
        captured_output: str | None,
        duration_ms: int | None,
        error: str | None = None,
        metadata: dict[str, Any] | None = None,
        at: int | None = None,
    ) -> None:
        """A whole tool call in one line, for callers that learn of it afterwards."""
        line = {
            "event": "tool_call",
            "tool_use_id": context.tool_use_id,
            "tool_name": context.tool_name,
            "task_id": context.task_id,
            "parent_tool_use_id": context.parent_tool_use_id,
            "phase": context.phase,
            "input_preview": preview(captured_input),
            "output_preview": preview(captured_output),
            "duration_ms": duration_ms,
            "error": preview(error),
            "metadata": metadata or {},
        }
        self._write(self.tool_calls_file, line, at)

    @property
    def is_closed(self) -> bool:
        """Whether there is no file open (any more)."""
        return not self._files

    def close(self) -> None:
        """Write the end of the session and close the files. May be called twice."""
        if self._files:
            self._write(self.events_file, {"event": "session_end", "session_id": self.session_id}, None)
        with self._lock:
            for file in self._files.values():
                file.close()
            self._files.clear()

    def _write(self, path: Path, line: dict[str, Any], at: int | None) -> None:
        try:
            line["timestamp"] = rfc3339(self._clock.now_micros() if at is None else at)
            data = orjson.dumps(line) + b"\n"
            with self._lock:
                file = self._files.get(path)
                if file is not None:
                    file.write(data)
        except Exception as error:  # noqa: BLE001 - the trail is an extra: a full disk must not stop the agent
            self._guard.note("audit trail", type(error).__name__)
