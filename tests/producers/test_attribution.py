"""Who called whom, through tasks, threads and sub-agents."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tachograph.producers import (
    AttributionScope,
    ContextThreadPoolExecutor,
    ExecutionContext,
    Run,
    Tracer,
    carry_context,
    current_run,
    get_current_context,
)
from tachograph.producers.testing import InMemoryPublisher
from tests.producers.support import explicit, make_tracer


def parents(publisher: InMemoryPublisher) -> dict[str, str | None]:
    """Parent of each tool, by the tools' names."""
    calls = [call for call in publisher.of("ToolCallRecord") if call["leg"] == "pre"]
    name_of = {call["tool_use_id"]: call["tool_name"] for call in calls}
    return {call["tool_name"]: name_of.get(call["parent_tool_use_id"]) for call in calls}


def test_scopes_nest_inherit_and_restore() -> None:
    """Task, phase and tool call are inherited; depth grows by one; leaving restores, errors included."""
    assert get_current_context() is None
    with AttributionScope(task_id="t", tool_use_id="call", phase="planning") as outer:
        assert outer == ExecutionContext("t", "call", "planning", 0)
        with pytest.raises(ValueError, match="x"), AttributionScope(phase="fix") as inner:  # noqa: PT012 - the error must pass through the block of the run
            assert inner == ExecutionContext("t", "call", "fix", 1)
            raise ValueError("x")
        assert get_current_context() == outer
    assert get_current_context() is None


def test_one_scope_object_can_be_entered_again_inside_itself() -> None:
    scope = AttributionScope(task_id="t")
    with scope, scope as inner:
        assert inner.depth == 1
    assert get_current_context() is None


def test_gather_keeps_siblings_apart() -> None:
    """Two tools at once, each with a nested call: each nested call has its own parent."""
    publisher = InMemoryPublisher()

    async def outer(name: str) -> None:
        await asyncio.sleep(0)
        await run.tools.aexecute(name)

    async def leaf() -> None:
        await asyncio.sleep(0)

    tools: dict[str, Any] = {"a": lambda: outer("a1"), "b": lambda: outer("b1"), "a1": leaf, "b1": leaf}

    async def main(run: Run) -> None:
        await asyncio.gather(run.tools.aexecute("a"), run.tools.aexecute("b"))

    with make_tracer(publisher, tools=tools).start_run() as run:
        asyncio.run(main(run))
    assert parents(publisher) == {"a": None, "b": None, "a1": "a", "b1": "b"}


def test_create_task_carries_the_context() -> None:
    publisher = InMemoryPublisher()

    async def spawn() -> None:
        await asyncio.create_task(run.tools.aexecute("leaf"))

    with make_tracer(publisher, tools={"spawn": spawn, "leaf": lambda: 1}).start_run() as run:
        asyncio.run(run.tools.aexecute("spawn"))
    assert parents(publisher) == {"spawn": None, "leaf": "spawn"}


@pytest.mark.parametrize("how", ["helper", "executor", "asyncio.to_thread", "bare thread"])
def test_thread_pools(how: str) -> None:
    """The helper and our executor carry the context; a bare thread starts without one."""
    publisher = InMemoryPublisher()

    def spawn() -> None:
        def job() -> Any:
            return run.tools.execute("leaf")

        match how:
            case "helper":
                with ThreadPoolExecutor(1) as pool:
                    pool.submit(carry_context(job)).result()
            case "executor":
                with ContextThreadPoolExecutor(1) as pool:
                    assert list(pool.map(lambda _: job(), range(2))) == [1, 1]
            case "asyncio.to_thread":
                asyncio.run(asyncio.to_thread(job))
            case _:
                with ThreadPoolExecutor(1) as pool:
                    pool.submit(job).result()

    with make_tracer(publisher, tools={"spawn": spawn, "leaf": lambda: 1}).start_run() as run:
        run.tools.execute("spawn")
    assert parents(publisher)["leaf"] == (None if how == "bare thread" else "spawn")


def test_carried_function_runs_many_times_at_once() -> None:
    with AttributionScope(task_id="t"):
        carried = carry_context(get_current_context)
    with ThreadPoolExecutor(4) as pool:
        found = [job.result() for job in [pool.submit(carried) for _ in range(20)]]
    assert {context.task_id for context in found if context} == {"t"}
    assert len(found) == 20


def test_sub_agents_three_deep() -> None:
    """Each run names its parent, its tool calls name the spawning call, and depth grows."""
    publisher = InMemoryPublisher()
    tracer = make_tracer(publisher, options=explicit())
    runs: list[Run] = []

    def agent(tracer: Tracer, level: int) -> None:
        with tracer.start_run(f"level {level}") as run:
            runs.append(run)
            assert current_run() is run
            with run.step("plan", f"step {level}"):
                if level < 3:
                    run.tools.register(lambda: agent(tracer, level + 1), f"spawn {level}")
                    run.tools.execute(f"spawn {level}")
                else:
                    run.tools.register(lambda: None, "leaf")
                    run.tools.execute("leaf")

    agent(tracer, 0)
    started = publisher.of("RunStarted")
    assert [item["parent_run_id"] for item in started] == [None, *(run.run_id for run in runs[:3])]
    assert len({item["trace_id"] for item in started}) == 4
    assert {item["session_id"] for item in started} == {runs[0].session_id}
    assert parents(publisher) == {"spawn 0": None, "spawn 1": "spawn 0", "spawn 2": "spawn 1", "leaf": "spawn 2"}
    depths = [call["depth"] for call in publisher.of("ToolCallRecord") if call["leg"] == "pre"]
    assert depths == [0, 1, 2, 3]
    # A span never has its parent in another trace.
    spans = {item["span_id"]: item["trace_id"] for item in publisher.of("StepStarted")}
    assert all(item["parent_span_id"] is None for item in publisher.of("StepStarted"))
    assert len(spans) == 4


def test_async_generator_closed_elsewhere_leaves_no_scope_behind() -> None:
    """Closing from another context must not raise; the closing context keeps its own scope."""

    async def numbers() -> AsyncIterator[int]:
        with AttributionScope(task_id="inner"):
            yield 1

    async def main() -> ExecutionContext | None:
        generator = numbers()
        await asyncio.create_task(anext(generator))  # type: ignore[arg-type]
        with AttributionScope(task_id="outer"):
            await generator.aclose()  # type: ignore[attr-defined]
            return get_current_context()

    context = asyncio.run(main())
    assert context is not None
    assert context.task_id == "outer"
