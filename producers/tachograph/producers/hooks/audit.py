"""AuditHook: writes the start and completion of every tool call to an audit trail."""

import time
from collections.abc import Callable
from typing import Any, Final

from tachograph.producers.audit import AuditTrail
from tachograph.producers.capture import CapturePolicy
from tachograph.producers.hooks.types import HookMatcher, PostHookResult, PreHookResult, ToolUseContext

_MOST_OPEN: Final = 10_000  # calls that began and never ended; past that the oldest are forgotten
_NANOS_PER_MS: Final = 1_000_000


class AuditHook:
    """For executors outside of a run. A run writes its trail itself: ``Tracer(audit=True)``.

    Hooks see raw content, the trail is a file: so inputs and outputs pass the capture policy first.

    ::

        registry.register(AuditHook(trail, CapturePolicy()).matcher())
    """

    def __init__(
        self, trail: AuditTrail, policy: CapturePolicy, steady_ns: Callable[[], int] = time.perf_counter_ns
    ) -> None:
        self._trail = trail
        self._policy = policy
        self._steady_ns = steady_ns
        self._started: dict[str, int] = {}

    def matcher(self, pattern: str | None = None) -> HookMatcher:
        """Both hooks, for every tool unless told otherwise."""
        return HookMatcher(pattern=pattern, pre_hooks=(self.pre_hook,), post_hooks=(self.post_hook,))

    def pre_hook(self, context: ToolUseContext) -> PreHookResult:
        """Write the start."""
        if len(self._started) >= _MOST_OPEN:
            self._started.pop(next(iter(self._started)), None)
        self._started[context.tool_use_id] = self._steady_ns()
        self._trail.log_tool_start(context, self._policy.value(context.tool_input).text)
        return PreHookResult()

    def post_hook(self, context: ToolUseContext, output: Any) -> PostHookResult:
        """Write the completion. An exception is the call's error."""
        now = self._steady_ns()
        duration = (now - self._started.pop(context.tool_use_id, now)) // _NANOS_PER_MS
        if isinstance(output, BaseException):
            self._trail.log_tool_complete(context, None, duration, self._policy.text(str(output)).text)
        else:
            self._trail.log_tool_complete(context, self._policy.value(output).text, duration)
        return PostHookResult()
