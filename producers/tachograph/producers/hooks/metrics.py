"""MetricsHook: counts and times tool calls, without touching them."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tachograph.producers.hooks.types import HookMatcher, PostHookResult, PreHookResult, ToolUseContext

_MOST_OPEN: Final = 10_000  # calls that began and never ended; past that the oldest are forgotten


@dataclass(slots=True)
class ToolMetrics:
    """Numbers of one tool. Times are in seconds."""

    calls: int = 0
    errors: int = 0
    total_seconds: float = 0.0
    longest_seconds: float = 0.0


class MetricsHook:
    """Numbers by tool. Safe to share between threads and runs."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._started: dict[str, float] = {}
        self._tools: dict[str, ToolMetrics] = {}

    def matcher(self, pattern: str | None = None) -> HookMatcher:
        """Both hooks, for every tool unless told otherwise."""
        return HookMatcher(pattern=pattern, pre_hooks=(self.pre_hook,), post_hooks=(self.post_hook,))

    @property
    def tools(self) -> dict[str, ToolMetrics]:
        """Numbers so far, by tool."""
        with self._lock:
            return dict(self._tools)

    def pre_hook(self, context: ToolUseContext) -> PreHookResult:
        """Start the watch."""
        with self._lock:
            if len(self._started) >= _MOST_OPEN:
                self._started.pop(next(iter(self._started)))
            self._started[context.tool_use_id] = self._clock()
        return PreHookResult()

    def post_hook(self, context: ToolUseContext, output: Any) -> PostHookResult:
        """Stop it."""
        now = self._clock()
        with self._lock:
            seconds = now - self._started.pop(context.tool_use_id, now)
            numbers = self._tools.setdefault(context.tool_name, ToolMetrics())
            numbers.calls += 1
            numbers.errors += isinstance(output, BaseException)
            numbers.total_seconds += seconds
            numbers.longest_seconds = max(numbers.longest_seconds, seconds)
        return PostHookResult()
