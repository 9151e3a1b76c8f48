"""Who called whom: the task, phase and tool call that the current code runs under.

Context variables follow ``await``, ``asyncio.gather`` and ``create_task`` by themselves. Plain threads start empty:
wrap what they run in :func:`carry_context`, or use :class:`ContextThreadPoolExecutor`.
"""

import functools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, Token, copy_context
from dataclasses import dataclass
from types import TracebackType
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, init=False)
class ExecutionContext:
    """What the current code is part of. Frozen; made for every tool call, so its fields are set by hand."""

    task_id: str | None = None
    """Current task."""
    tool_use_id: str | None = None
    """Tool call that this code runs inside of; the parent of calls made here."""
    phase: str | None = None
    """planning, execution, validation, fix; None outside of any."""
    depth: int = 0
    """How many scopes are around this one."""

    def __init__(
        self,
        task_id: str | None = None,
        tool_use_id: str | None = None,
        phase: str | None = None,
        depth: int = 0,
    ) -> None:
        fields = self.__dict__
        fields["task_id"] = task_id
        fields["tool_use_id"] = tool_use_id
        fields["phase"] = phase
        fields["depth"] = depth


_CURRENT: Final[ContextVar[ExecutionContext | None]] = ContextVar("tachograph_execution_context", default=None)


def get_current_context() -> ExecutionContext | None:
    """The scope around the current code, or None outside of any."""
    return _CURRENT.get()


def enter(context: ExecutionContext) -> Token[ExecutionContext | None]:
    """Make ``context`` current. Give the token to :func:`leave`."""
    return _CURRENT.set(context)


def leave(token: Token[ExecutionContext | None]) -> None:
    """Restore what was current before."""
    try:  # noqa: SIM105 - suppress() costs 0.4 µs in every tool call
        _CURRENT.reset(token)
    except ValueError:
        # An async generator may be closed in another context than the one it was entered in; that context never saw
        # our value, so there is nothing to restore there.
        pass


def nested(task_id: str | None = None, tool_use_id: str | None = None, phase: str | None = None) -> ExecutionContext:
    """The context of a scope opened here: what is not given is inherited."""
    around = _CURRENT.get()
    if around is None:
        return ExecutionContext(task_id, tool_use_id, phase, 0)
    return ExecutionContext(
        around.task_id if task_id is None else task_id,
        around.tool_use_id if tool_use_id is None else tool_use_id,
        around.phase if phase is None else phase,
        around.depth + 1,
    )


class AttributionScope:
    """Everything recorded inside belongs to this task, phase or tool call.

    ::

        with AttributionScope(task_id="task_42", phase="planning"):
            run.tools.execute("search", {"query": "..."})
    """

    def __init__(self, task_id: str | None = None, tool_use_id: str | None = None, phase: str | None = None) -> None:
        self._given = (task_id, tool_use_id, phase)
        self._tokens: list[Token[ExecutionContext | None]] = []

    def __enter__(self) -> ExecutionContext:
        context = nested(*self._given)
        self._tokens.append(enter(context))
        return context

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        leave(self._tokens.pop())


def carry_context(function: Callable[P, R]) -> Callable[P, R]:
    """A function that runs, in whatever thread, under the context in which ``carry_context`` was called."""
    context = copy_context()

    @functools.wraps(function)
    def carried(*args: P.args, **kwargs: P.kwargs) -> R:
        # A copy for each call: one Context cannot be entered twice at the same time.
        return context.copy().run(function, *args, **kwargs)

    return carried


class ContextThreadPoolExecutor(ThreadPoolExecutor):
    """A thread pool whose jobs run under the context of the code that submitted them."""

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> "Future[R]":
        """Schedule ``fn``, carrying the caller's context."""
        return super().submit(carry_context(fn), *args, **kwargs)
