"""Tool hooks: what they see, what they can do, and what is recorded of them."""

import asyncio
from typing import Any, Literal

import pytest

from tachograph.producers import (
    HookAbortError,
    HookAction,
    HookMatcher,
    HookRegistry,
    PostHookResult,
    PreHookResult,
    Run,
    ToolExecutor,
    ToolUseContext,
)
from tachograph.producers.errors import UnknownToolError
from tachograph.producers.testing import InMemoryPublisher
from tests.producers.support import explicit, make_tracer, validated

Style = Literal["plain", "async"]


def call(run_or_executor: Any, style: Style, name: str, tool_input: Any = None, **fields: Any) -> Any:
    tools = getattr(run_or_executor, "tools", run_or_executor)
    tools = run_or_executor if isinstance(run_or_executor, ToolExecutor) else tools
    if style == "plain":
        return tools.execute(name, tool_input, **fields)
    return asyncio.run(tools.aexecute(name, tool_input, **fields))


def recorded(publisher: InMemoryPublisher, leg: str) -> dict[str, Any]:
    [found] = [item for item in publisher.of("ToolCallRecord") if item["leg"] == leg]
    return found


def start(publisher: InMemoryPublisher, *matchers: HookMatcher, tools: Any = None, **options: Any) -> Run:
    tracer = make_tracer(
        publisher, hooks=HookRegistry(list(matchers)), tools=tools, strict=False, options=explicit(**options)
    )
    return tracer.start_run().start()


@pytest.mark.parametrize("style", ["plain", "async"])
@pytest.mark.parametrize("kind", ["plain hooks", "async hooks"])
def test_hooks_see_and_change_what_goes_through(style: Style, kind: str) -> None:
    """A later pre-hook sees the earlier one's input; the tool gets the last; post-hooks chain the same way."""
    seen: list[Any] = []

    def add_b(context: ToolUseContext) -> PreHookResult:
        return PreHookResult(modified_input={**context.tool_input, "b": 2}, metadata={"first": True})

    def look(context: ToolUseContext) -> None:
        seen.append(context.tool_input)

    def double(context: ToolUseContext, output: Any) -> PostHookResult:
        seen.append(context.tool_input)
        return PostHookResult(modified_output=output * 2, metadata={"second": 2})

    def plus_one(_: ToolUseContext, output: Any) -> PostHookResult:
        return PostHookResult(modified_output=output + 1)

    def asyncly(hook: Any) -> Any:
        async def wrapped(*args: Any) -> Any:
            await asyncio.sleep(0)
            return hook(*args)

        wrapped.__qualname__ = hook.__qualname__
        return wrapped

    wrap = asyncly if kind == "async hooks" else (lambda hook: hook)
    matcher = HookMatcher(pre_hooks=(wrap(add_b), wrap(look)), post_hooks=(wrap(double), wrap(plus_one)))
    publisher = InMemoryPublisher()
    run = start(publisher, matcher, tools={"add": lambda a, b: a + b})
    assert call(run, style, "add", {"a": 1}) == 7
    run.close()
    assert seen == [{"a": 1, "b": 2}, {"a": 1, "b": 2}]
    post = recorded(publisher, "post")
    assert recorded(publisher, "pre")["tool_input"] == '{"a":1,"b":2}'
    assert post["output"] == "7"
    assert post["metadata"] == {"first": True, "second": 2}
    assert [(item["hook"].rsplit(".", 1)[1], item["stage"], item["modified"]) for item in post["hooks"]] == [
        ("add_b", "pre", True),
        ("double", "post", True),
        ("plus_one", "post", True),
    ]
    validated(publisher)


@pytest.mark.parametrize("style", ["plain", "async"])
def test_skip_leaves_the_tool_and_later_hooks_out(style: Style) -> None:
    ran: list[str] = []

    def skip(_: ToolUseContext) -> PreHookResult:
        return PreHookResult(HookAction.SKIP, reason="not today")

    def later(_: ToolUseContext) -> None:
        ran.append("hook")

    publisher = InMemoryPublisher()
    run = start(publisher, HookMatcher(pre_hooks=(skip, later)), tools={"t": lambda: ran.append("tool")})
    assert call(run, style, "t") is None
    assert ran == []
    for leg in ("pre", "post", "result"):
        assert recorded(publisher, leg)["skipped"] is True
    [outcome] = recorded(publisher, "post")["hooks"]
    assert (outcome["hook"].endswith("skip"), outcome["action"], outcome["reason"]) == (True, "skip", "not today")
    run.close()


@pytest.mark.parametrize("style", ["plain", "async"])
@pytest.mark.parametrize("stage", ["pre", "post"])
def test_abort_ends_the_run_and_says_who_and_why(style: Style, stage: str) -> None:
    ran: list[int] = []

    def stop(*_: Any) -> Any:
        kind = PreHookResult if stage == "pre" else PostHookResult
        return kind(HookAction.ABORT, reason="enough", metadata={"violation": "dangerous_command"})

    matcher = HookMatcher(pre_hooks=(stop,)) if stage == "pre" else HookMatcher(post_hooks=(stop,))
    publisher = InMemoryPublisher()
    tracer = make_tracer(publisher, hooks=HookRegistry([matcher]), tools={"t": lambda: ran.append(1)})
    with pytest.raises(HookAbortError) as caught, tracer.start_run() as run, run.step("tool", "s"):
        call(run, style, "t")
    assert ran == ([] if stage == "pre" else [1])
    assert (caught.value.tool_name, caught.value.stage, caught.value.reason) == ("t", stage, "enough")
    assert "enough" not in str(caught.value)
    post = recorded(publisher, "post")
    assert [(item["action"], item["reason"], item["stage"]) for item in post["hooks"]] == [("abort", "enough", stage)]
    assert post["error_type"] == "HookAbortError"
    assert post["metadata"] == {"violation": "dangerous_command"}
    assert publisher.of("StepEnded")[0]["status"] == "aborted"
    assert publisher.of("RunEnded")[0]["status"] == "aborted"
    validated(publisher)


@pytest.mark.parametrize("style", ["plain", "async"])
@pytest.mark.parametrize("error", [ValueError("bad"), KeyboardInterrupt(), SystemExit(3), StopIteration(1)], ids=repr)
def test_a_tool_that_raises_reaches_post_hooks_and_record(style: Style, error: BaseException) -> None:
    """Whatever it raises; the caller gets the same object."""
    seen: list[Any] = []

    def fail() -> None:
        raise error

    def post(_: ToolUseContext, output: Any) -> PostHookResult:
        seen.append(output)
        return PostHookResult(modified_output="ignored")

    publisher = InMemoryPublisher()
    run = start(publisher, HookMatcher(post_hooks=(post,)), tools={"t": fail})
    tools = run.tools

    async def main() -> None:
        try:
            await tools.aexecute("t")
        except BaseException as raised:  # noqa: BLE001 - whatever it is, it is the tool's
            # Python itself turns a StopIteration that leaves a coroutine into a RuntimeError.
            assert raised is error or raised.__cause__ is error  # noqa: PT017 - pytest.raises takes no KeyboardInterrupt
        else:
            pytest.fail("nothing was raised")

    if style == "plain":
        with pytest.raises(type(error)) as caught:
            tools.execute("t")
        assert caught.value is error
    else:
        asyncio.run(main())
    assert seen == [error]
    assert recorded(publisher, "post")["error_type"] == type(error).__name__
    assert recorded(publisher, "result")["error_type"] == type(error).__name__
    run.close()
    validated(publisher)


def test_a_cancelled_tool_is_recorded() -> None:
    publisher = InMemoryPublisher()
    inside = asyncio.Event()

    async def hang() -> None:
        inside.set()
        await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.create_task(run.tools.aexecute("t"))
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run = start(publisher, HookMatcher(post_hooks=(lambda _c, _o: None,)), tools={"t": hang})
    asyncio.run(main())
    assert recorded(publisher, "post")["error_type"] == "CancelledError"
    run.close()


def test_a_closed_coroutine_is_recorded() -> None:
    """Even where nothing more may be awaited."""
    publisher = InMemoryPublisher()

    class Forever:
        def __await__(self) -> Any:
            yield

    async def hook(_: ToolUseContext, __: Any) -> None:
        pytest.fail("hooks cannot run in a coroutine that is being closed")

    run = start(publisher, HookMatcher(post_hooks=(hook,)), tools={"t": Forever}, hook_timeout=None)
    coroutine = run.tools.aexecute("t")
    coroutine.send(None)
    coroutine.close()
    assert recorded(publisher, "post")["error_type"] == "GeneratorExit"
    run.close()


@pytest.mark.parametrize("style", ["plain", "async"])
@pytest.mark.parametrize("on_error", ["continue", "abort"])
@pytest.mark.parametrize("fault", ["raises", "hangs", "answers nonsense"])
def test_a_bad_hook(style: Style, on_error: Literal["continue", "abort"], fault: str) -> None:
    """It is counted and recorded; the call goes on, or is aborted if that was asked for."""

    async def bad(_: ToolUseContext) -> Any:
        if fault == "raises":
            raise RuntimeError("oops")
        if fault == "hangs":
            await asyncio.Event().wait()
        return 42

    publisher = InMemoryPublisher()
    run = start(
        publisher,
        HookMatcher(pre_hooks=(bad,)),
        tools={"t": lambda: "done"},
        hook_timeout=0.05,
        on_hook_error=on_error,
    )
    if on_error == "abort":
        with pytest.raises(HookAbortError):
            call(run, style, "t")
    else:
        assert call(run, style, "t") == "done"
    [outcome] = recorded(publisher, "post")["hooks"]
    expected = {"raises": "RuntimeError", "hangs": "TimeoutError", "answers nonsense": "TypeError"}[fault]
    assert (outcome["error_type"], outcome["action"]) == (expected, on_error)
    assert run.recorder.guard.counts == {"hook pre": 1}
    run.close()
    validated(publisher)


def test_a_post_hook_cannot_skip() -> None:
    publisher = InMemoryPublisher()
    hook = HookMatcher(post_hooks=(lambda _c, _o: PostHookResult(HookAction.SKIP),))
    run = start(publisher, hook, tools={"t": lambda: 1})
    assert run.tools.execute("t") == 1
    assert recorded(publisher, "post")["hooks"][0]["error_type"] == "ValueError"
    run.close()


@pytest.mark.parametrize(
    ("pattern", "phases", "name", "phase", "expected"),
    [
        pytest.param(None, None, "any", None, True, id="no condition matches all"),
        pytest.param("read_*", None, "read_file", None, True, id="glob"),
        pytest.param("read_*", None, "Read_file", None, False, id="case counts"),
        pytest.param(None, ("fix",), "t", "fix", True, id="phase"),
        pytest.param(None, ("fix",), "t", None, False, id="no phase is not that phase"),
        pytest.param("read_*", ("fix",), "read_file", "planning", False, id="both must match"),
    ],
)
def test_matchers(pattern: str | None, phases: Any, name: str, phase: str | None, expected: bool) -> None:
    context = ToolUseContext(name, {}, "id", None, None, phase)
    assert HookMatcher(pattern, phases).matches(context) is expected


def test_registry_keeps_the_order_of_registration() -> None:
    registry = HookRegistry()
    hooks = [lambda _: None for _ in range(3)]
    registry.register(HookMatcher(pre_hooks=(hooks[0], hooks[1])))
    registry.register(HookMatcher(pre_hooks=(hooks[2],)))
    assert registry.get_pre_hooks(ToolUseContext("t", {}, "id")) == hooks


def test_executor_works_alone() -> None:
    """Without run, registry or records; with functions, objects and positional input."""

    class Doubler:
        def execute(self, tool_input: Any) -> Any:
            return tool_input["n"] * 2

    executor = ToolExecutor({"double": Doubler(), "add": lambda a, b: a + b, "upper": str.upper})
    assert executor.execute("double", {"n": 2}) == 4
    assert executor.execute("add", {"a": 1, "b": 2}) == 3
    assert executor.execute("upper", "x") == "X"
    assert asyncio.run(executor.aexecute("add", {"a": 1, "b": 2})) == 3
    with pytest.raises(UnknownToolError, match="no tool is registered as 'nope'"):
        executor.execute("nope")

    @executor.register
    def hello() -> str:
        return "hi"

    assert executor.execute("hello") == "hi"


def test_each_call_has_its_own_id() -> None:
    seen: list[str] = []
    executor = ToolExecutor(
        {"t": lambda: None}, HookRegistry([HookMatcher(pre_hooks=(lambda c: seen.append(c.tool_use_id),))])
    )
    for _ in range(3):
        executor.execute("t")
    assert len(set(seen)) == 3


@pytest.mark.parametrize("ends", ["well", "badly"])
def test_a_tool_that_other_code_runs(ends: str) -> None:
    """The paused form has the same hooks, attribution and records."""
    publisher = InMemoryPublisher()
    upper = HookMatcher(
        pre_hooks=(lambda c: PreHookResult(modified_input={"x": c.tool_input["x"] + 1}),),
        post_hooks=(lambda _c, o: PostHookResult(modified_output=[o]),),
    )
    run = start(publisher, upper, tools={"inner": lambda x=0: x})
    try:
        with run.tools.call("outer", {"x": 1}) as paused:
            assert paused.tool_input == {"x": 2}
            run.tools.execute("inner", {"x": 0})
            if ends == "badly":
                raise ValueError("x")  # noqa: TRY301 - the block is what is tested
            paused.output = "out"
    except ValueError:
        assert ends == "badly"
    else:
        assert paused.output == ["out"]
    outer = [item for item in publisher.of("ToolCallRecord") if item["tool_name"] == "outer"]
    inner = [item for item in publisher.of("ToolCallRecord") if item["tool_name"] == "inner"]
    assert [item["leg"] for item in outer] == ["pre", "post", "result"]
    assert outer[1]["error_type"] == ("ValueError" if ends == "badly" else None)
    assert {item["parent_tool_use_id"] for item in inner} == {paused.tool_use_id}
    run.close()
    validated(publisher)


def test_async_tool_from_plain_code_and_its_timeout() -> None:
    publisher = InMemoryPublisher()

    async def hang() -> None:
        await asyncio.Event().wait()

    run = start(publisher, tools={"t": hang}, tool_timeout=0.05)
    with pytest.raises(TimeoutError):
        run.tools.execute("t")
    assert publisher.of("AgentFailure")[0]["trigger"] == "tool_timeout"
    run.close()
