"""ToolExecutor: runs tools by name, with hooks around them and a record of each call."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from tachograph.producers import attribution
from tachograph.producers.attribution import ExecutionContext
from tachograph.producers.errors import UnknownToolError
from tachograph.producers.hooks.types import HookMatcher, HookRegistry, PreHooksOnly, ToolUseContext
from tachograph.producers.ids import Ids, RandomIds
from tachograph.producers.options import DEFAULT_HOOK_TIMEOUT
from tachograph.producers.tools.conduct import Telling, Witness, conduct
from tachograph.producers.tools.decorated import FunctionTool, through
from tachograph.producers.tools.drive import adrive, drive, drive_straight
from tachograph.producers.tools.pause import PausedCall
from tachograph.producers.tools.unseen import Unseen

if TYPE_CHECKING:
    from tachograph.producers.run import Run

F = TypeVar("F", bound=Callable[..., Any])


@runtime_checkable
class Tool(Protocol):
    """A tool as an object. Plain functions are tools too."""

    def execute(self, tool_input: Any, /) -> Any:
        """Do the work; may be async."""


class ToolExecutor:
    """Runs tools by name.

    A function is called with the input's entries as keyword arguments; an object with a method ``execute`` gets the
    input whole. Both may be async; async hooks and tools also work from plain code, on a loop in a thread of ours.

    ``hook_timeout`` and ``tool_timeout`` (seconds) end async hooks and tools. A plain function cannot be interrupted
    in Python: a plain hook that may hang goes through ``hooks.threads.in_thread``. ``on_hook_error`` says what a hook's
    own failure means; it is recorded either way.

    ::

        executor = ToolExecutor({"add": lambda a, b: a + b})
        executor.execute("add", {"a": 1, "b": 2})
    """

    def __init__(
        self,
        tools: Mapping[str, Any] | None = None,
        hook_registry: HookRegistry | None = None,
        *,
        run: "Run | None" = None,
        hook_timeout: float | None = DEFAULT_HOOK_TIMEOUT,
        tool_timeout: float | None = None,
        on_hook_error: Literal["continue", "abort"] = "continue",
        ids: Ids | None = None,
    ) -> None:
        self.tools: dict[str, Any] = dict(tools or {})
        self.hooks = hook_registry if hook_registry is not None else HookRegistry()
        self.gates: tuple[HookMatcher, ...] = ()
        """Hooks of the governed decisions that are open in this run. They come before all others."""
        self._run = run
        self._is_replayed = run is not None and run.replay is not None
        self._hook_timeout = hook_timeout
        self._tool_timeout = tool_timeout
        self._on_hook_error: Literal["continue", "abort"] = on_hook_error
        self._ids = ids or (run.recorder.ids if run is not None else RandomIds())

    def register(self, tool: F, name: str | None = None) -> F:
        """Add a tool under its own name or another. Works as a decorator."""
        self.tools[name or str(getattr(tool, "__name__", type(tool).__name__))] = tool
        return tool

    def tool(self, function: F, name: str | None = None) -> F:
        """Make a function a tool that is called like a function, plain or async. A decorator.

        ::

            @run.tools.tool
            def search(query, limit=10):
                return [f"{query} {number}" for number in range(limit)]

            search("weather", limit=2)  # hooks, records, attribution as with ``execute``
        """
        chosen = name or function.__name__
        self.tools[chosen] = tool = FunctionTool(function)
        return through(lambda: (self, chosen), tool, function)

    def execute(
        self,
        tool_name: str,
        tool_input: Any = None,
        *,
        tool_use_id: str | None = None,
        task_id: str | None = None,
        parent_tool_use_id: str | None = None,
        phase: str | None = None,
    ) -> Any:
        """Run a tool from plain code. Returns its output as post-hooks left it; None if a hook skipped it.

        ::

            answer = run.tools.execute("search", {"query": "weather"}, task_id="task-1", phase="execution")

        ``tool_use_id`` is the model's id of the call, where a model asked for it. ``phase`` is one of planning,
        execution, validation, fix. What is not given comes from the AttributionScope around the call. Raises what the
        tool raises, and HookAbortError.
        """
        telling, witness = self._begin(tool_name, tool_input, tool_use_id, task_id, parent_tool_use_id, phase)
        invoke = self._invoke(tool_name, witness)
        if self.hooks.matchers or self.gates:
            drive(
                conduct(self._hooks, telling, witness, on_hook_error=self._on_hook_error),
                invoke,
                hook_timeout=self._hook_timeout,
                tool_timeout=self._tool_timeout,
            )
        else:
            drive_straight(telling, witness, invoke, tool_timeout=self._tool_timeout)
        if telling.error is not None:
            raise telling.error
        return telling.output

    async def aexecute(
        self,
        tool_name: str,
        tool_input: Any = None,
        *,
        tool_use_id: str | None = None,
        task_id: str | None = None,
        parent_tool_use_id: str | None = None,
        phase: str | None = None,
    ) -> Any:
        """Run a tool from async code. See ``execute``.

        ::

            answer = await run.tools.aexecute("search", {"query": "weather"})
        """
        telling, witness = self._begin(tool_name, tool_input, tool_use_id, task_id, parent_tool_use_id, phase)
        course = conduct(self._hooks, telling, witness, on_hook_error=self._on_hook_error)
        invoke = self._invoke(tool_name, witness)
        await adrive(course, invoke, hook_timeout=self._hook_timeout, tool_timeout=self._tool_timeout)
        if telling.error is not None:
            raise telling.error
        return telling.output

    def call(
        self,
        tool_name: str,
        tool_input: Any = None,
        *,
        tool_use_id: str | None = None,
        task_id: str | None = None,
        parent_tool_use_id: str | None = None,
        phase: str | None = None,
    ) -> PausedCall:
        """Record a tool that other code runs: a context manager around it.

        ::

            with run.tools.call("search", {"query": "..."}) as call:
                if not call.skipped:
                    call.output = search(**call.tool_input)
        """
        telling, witness = self._begin(tool_name, tool_input, tool_use_id, task_id, parent_tool_use_id, phase)
        course = conduct(self._hooks, telling, witness, on_hook_error=self._on_hook_error)
        served = None if not self._is_replayed else self._invoke(tool_name, witness)
        return PausedCall(course, telling, self._hook_timeout, served)

    @property
    def _hooks(self) -> HookRegistry:
        # Recorded outputs are what post-hooks left: they must not see them again.
        hooks = HookRegistry([*self.gates, *self.hooks.matchers]) if self.gates else self.hooks
        return PreHooksOnly(hooks.matchers) if self._is_replayed else hooks

    def _begin(  # noqa: PLR0917 - the parts of one thing
        self,
        tool_name: str,
        tool_input: Any,
        tool_use_id: str | None,
        task_id: str | None,
        parent_tool_use_id: str | None,
        phase: str | None,
    ) -> tuple[Telling, Witness]:
        around = attribution.get_current_context()
        if around is not None:
            task_id = task_id if task_id is not None else around.task_id
            parent_tool_use_id = parent_tool_use_id if parent_tool_use_id is not None else around.tool_use_id
            phase = phase if phase is not None else around.phase
        if self._run is not None and not (tool_use_id is task_id is parent_tool_use_id is phase is None):
            phase = self._run.phase(phase)
            tool_use_id, task_id, parent_tool_use_id = self._run.names(tool_use_id, task_id, parent_tool_use_id)
        context = ToolUseContext(
            tool_name,
            {} if tool_input is None else tool_input,
            tool_use_id or self._ids.uuid(),
            task_id,
            parent_tool_use_id,
            phase,
        )
        # As `nested` would, which asks again what is around.
        depth = 0 if around is None else around.depth + 1
        execution = ExecutionContext(task_id, context.tool_use_id, phase, depth)
        witness: Witness = Unseen() if self._run is None else self._run.witness()
        return Telling(context, execution), witness

    def _invoke(self, tool_name: str, witness: Witness) -> Callable[[Any], Any]:
        if self._is_replayed:
            serve: Callable[[Any], Any] = witness.serve  # type: ignore[attr-defined]  # a replayed run's witness has it
            return serve
        tool = self.tools.get(tool_name)
        if tool is None:
            return _unknown(witness.shown(tool_name))
        execute = getattr(tool, "execute", None)
        if execute is not None:
            return execute  # type: ignore[no-any-return]
        return lambda given: tool(**given) if isinstance(given, dict) else tool(given)


def _unknown(tool_name: str) -> Callable[[Any], Any]:
    def refuse(_: Any) -> Any:
        raise UnknownToolError(f"no tool is registered as {tool_name!r}; use tools.register")

    return refuse
