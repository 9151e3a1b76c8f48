"""A function as a tool that is called like a function: every call passes the boundary, with its hooks and records."""

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from tachograph.producers.tools.executor import ToolExecutor

F = TypeVar("F", bound=Callable[..., Any])
Boundary = Callable[[], "tuple[ToolExecutor, str] | None"]
"""Finds the executor that a call made here and now goes through, and the tool's name there; None outside of any."""


class FunctionTool:
    """A function under the names of its parameters, whatever kinds they are: what a call's record and hooks see."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._signature = inspect.signature(function)

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name. Raises TypeError as the function itself would."""
        return dict(self._signature.bind(*args, **kwargs).arguments)

    def execute(self, tool_input: Any, /) -> Any:
        """Call the function with arguments by name, as hooks left them."""
        if not isinstance(tool_input, dict):
            return self._function(tool_input)
        known = {name: tool_input[name] for name in self._signature.parameters if name in tool_input}
        if len(known) < len(tool_input):  # names that the function does not have: it says so itself, or takes them
            return self._function(**tool_input)
        bound = inspect.BoundArguments(self._signature, cast("Any", known))
        return self._function(*bound.args, **bound.kwargs)


def through(boundary: Boundary, tool: FunctionTool, function: F) -> F:
    """The function, calling through the boundary where there is one."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            found = boundary()
            if found is None:
                return await function(*args, **kwargs)
            executor, name = found
            return await executor.aexecute(name, tool.named(args, kwargs))

        return cast("F", awaited)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        found = boundary()
        if found is None:
            return function(*args, **kwargs)
        executor, name = found
        return executor.execute(name, tool.named(args, kwargs))

    return cast("F", called)
