"""The course of one tool call: pre-hooks, tool, post-hooks, records. Decides everything and calls nothing.

It is a generator that yields what is to be called and is sent what came of it, so that the same course serves plain
code, async code, and code that runs the tool itself (see ``drive``).
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol

from tachograph.producers import attribution
from tachograph.producers.attribution import ExecutionContext
from tachograph.producers.errors import HookAbortError
from tachograph.producers.hooks.types import (
    HookAction,
    HookRegistry,
    PostHookResult,
    PreHookResult,
    ToolUseContext,
    hook_name,
)
from tachograph.schemas.enums import HookStage


class CallHook(NamedTuple):
    """Call a hook; throw into the course what it raises."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class CallTool(NamedTuple):
    """Call the tool; throw into the course what it raises, whatever it is."""

    tool_input: Any


Course = Generator[CallHook | CallTool, Any, None]


class Outcome(NamedTuple):
    """What one hook decided, as the record says it."""

    hook: str
    stage: HookStage
    action: HookAction
    reason: str = ""
    modified: bool = False
    error_type: str | None = None


@dataclass(slots=True)
class Telling:
    """What there is to tell of a call so far."""

    context: ToolUseContext
    execution: ExecutionContext
    outcomes: list[Outcome] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    output: Any = None
    error: BaseException | None = None
    skipped: bool = False
    duration_ns: int = 0


class Witness(Protocol):
    """What is told of the course of a call. Its methods must not raise, but for stops of the run."""

    def before(self, telling: Telling) -> None:
        """Pre-hooks have run; the tool is about to, unless it is skipped or ``error`` is set."""

    def inside(self, telling: Telling) -> Any:
        """The tool starts. What it returns is given back to ``outside``."""

    def outside(self, token: Any) -> None:
        """The tool has ended."""

    def after(self, telling: Telling) -> None:
        """Post-hooks have run."""

    def handed_back(self, telling: Telling) -> None:
        """The result, or the error, goes to the agent now."""

    def hook_failed(self, outcome: Outcome) -> None:
        """A hook raised or timed out."""

    def shown(self, name: str) -> str:
        """A tool's or hook's name as the text of an error may carry it."""

    def steady_ns(self) -> int:
        """Steady clock."""


def conduct(
    registry: HookRegistry,
    telling: Telling,
    witness: Witness,
    *,
    on_hook_error: Literal["continue", "abort"] = "continue",
) -> Course:
    """The whole course. Raises nothing of the tool's: ``telling.error`` is what the agent is to get, if it is set."""
    has_hooks = bool(registry.matchers)
    if has_hooks:
        yield from _pre_hooks(registry, telling, witness, on_hook_error)
    witness.before(telling)
    if telling.error is None and not telling.skipped:
        try:  # noqa: SIM105 - suppress() costs 0.4 µs in every tool call
            yield from _tool(telling, witness)
        except GeneratorExit:  # it closes `_tool` as well, which has taken note of it
            pass
        # After GeneratorExit nothing more may be called: the caller's coroutine is being closed.
        if has_hooks and not isinstance(telling.error, GeneratorExit):
            yield from _post_hooks(registry, telling, witness, on_hook_error)
    witness.after(telling)
    witness.handed_back(telling)


def _tool(telling: Telling, witness: Witness) -> Course:
    token = attribution.enter(telling.execution)
    place = witness.inside(telling)
    started = witness.steady_ns()
    try:
        telling.output = yield CallTool(telling.context.tool_input)
    except BaseException as error:  # noqa: BLE001 - recorded, judged, and raised again by the caller
        telling.error = error
    finally:
        telling.duration_ns = witness.steady_ns() - started
        witness.outside(place)
        attribution.leave(token)


def _pre_hooks(registry: HookRegistry, telling: Telling, witness: Witness, on_error: str) -> Course:
    for hook in registry.get_pre_hooks(telling.context):
        name = hook_name(hook)
        try:
            answer = _answer(PreHookResult, (yield CallHook(hook, (telling.context,))))
        except BaseException as error:  # noqa: BLE001 - recorded, judged, and raised again by the caller
            if _failed(name, HookStage.PRE, error, telling, witness, on_error):
                return
            continue
        if answer is None:
            continue
        if answer.metadata:
            telling.metadata.update(answer.metadata)
        modified = answer.modified_input is not None and answer.action is HookAction.CONTINUE
        telling.outcomes.append(Outcome(name, HookStage.PRE, answer.action, answer.reason, modified))
        if modified:
            assert answer.modified_input is not None
            telling.context = replace(telling.context, tool_input=answer.modified_input)
        if answer.action is HookAction.SKIP:
            telling.skipped = True
            return
        if answer.action is HookAction.ABORT:
            telling.error = _abort(name, HookStage.PRE, answer.reason, telling, witness)
            return


def _post_hooks(registry: HookRegistry, telling: Telling, witness: Witness, on_error: str) -> Course:
    for hook in registry.get_post_hooks(telling.context):
        name = hook_name(hook)
        seen = telling.output if telling.error is None else telling.error
        try:
            answer = _answer(PostHookResult, (yield CallHook(hook, (telling.context, seen))))
        except BaseException as error:  # noqa: BLE001 - recorded, judged, and raised again by the caller
            if _failed(name, HookStage.POST, error, telling, witness, on_error):
                return
            continue
        if answer is None:
            continue
        if answer.metadata:
            telling.metadata.update(answer.metadata)
        modified = answer.modified_output is not None and telling.error is None
        telling.outcomes.append(Outcome(name, HookStage.POST, answer.action, answer.reason, modified))
        if modified:
            telling.output = answer.modified_output
        if answer.action is HookAction.ABORT:
            abort = _abort(name, HookStage.POST, answer.reason, telling, witness)
            abort.__cause__ = telling.error
            telling.error = abort
            return


def _answer(kind: type[Any], answer: Any) -> Any:
    if answer is None or isinstance(answer, kind):
        if kind is PostHookResult and answer is not None and answer.action is HookAction.SKIP:
            raise ValueError("a post-hook cannot skip a call that was made")
        return answer
    raise TypeError(f"a hook returns a {kind.__name__} or None")


def _failed(  # noqa: PLR0917 - the parts of one thing
    name: str, stage: HookStage, error: BaseException, telling: Telling, witness: Witness, on_error: str
) -> bool:
    """Judge what a hook raised. True if the call ends here."""
    aborts = isinstance(error, HookAbortError)
    stops = aborts or not isinstance(error, Exception) or on_error == "abort"
    outcome = Outcome(
        name,
        stage,
        HookAction.ABORT if stops else HookAction.CONTINUE,
        error.reason if isinstance(error, HookAbortError) else "",
        error_type=None if aborts else type(error).__name__,
    )
    telling.outcomes.append(outcome)
    if not aborts:
        witness.hook_failed(outcome)
    if not stops:
        return False
    if isinstance(error, Exception) and not aborts:
        abort = _abort(name, stage, "the hook failed", telling, witness)
        abort.__cause__ = error
        error = abort
    telling.error = error
    return True


def _abort(name: str, stage: HookStage, reason: str, telling: Telling, witness: Witness) -> HookAbortError:
    tool_name = witness.shown(telling.context.tool_name)
    return HookAbortError(tool_name=tool_name, hook=witness.shown(name), stage=stage.value, reason=reason)
