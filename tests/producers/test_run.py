"""The life of a run: how it ends, who its parent is, and what happens when nobody closes it."""

import asyncio
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tachograph.producers import HookAbortError, Run, SystemErrorStop, Tracer, current_run
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.privacy import PrivacyError
from tests.producers.support import explicit, make_tracer, types, validated


@pytest.mark.parametrize(
    ("make", "status", "failures"),
    [
        pytest.param(lambda: None, "succeeded", 0, id="nothing"),
        pytest.param(lambda: ValueError("x"), "failed", 1, id="an error"),
        pytest.param(KeyboardInterrupt, "aborted", 0, id="an interrupt"),
        pytest.param(lambda: HookAbortError(tool_name="t", hook="h", stage="pre"), "aborted", 0, id="a hook's abort"),
        pytest.param(lambda: SystemErrorStop("x", missing="y"), "SYSTEM_ERROR", 0, id="a system error"),
    ],
)
@pytest.mark.parametrize("style", ["plain", "async"])
def test_status_follows_what_left_the_block(
    style: str, make: Callable[[], BaseException | None], status: str, failures: int
) -> None:
    error = make()
    publisher = InMemoryPublisher()
    run = make_tracer(publisher, options=explicit()).start_run()

    def plain() -> None:
        with run, run.step("plan", "s"):
            if error is not None:
                raise error

    async def asyncly() -> None:
        async with run, run.step("plan", "s"):
            if error is not None:
                raise error

    try:
        plain() if style == "plain" else asyncio.run(asyncly())
    except BaseException as raised:  # noqa: BLE001 - compared
        assert raised is error  # noqa: PT017 - pytest.raises takes no KeyboardInterrupt
    ended = publisher.of("RunEnded")[0]
    assert ended["status"] == status
    assert ended["error_type"] == (None if error is None else type(error).__name__)
    assert len(publisher.of("AgentFailure")) == failures
    validated(publisher)


def test_one_error_is_one_failure_however_many_steps_it_leaves() -> None:
    publisher = InMemoryPublisher()
    with pytest.raises(ValueError, match="deep"), make_tracer(publisher, options=explicit()).start_run() as run:  # noqa: SIM117 - a run, and what is inside it
        with run.step("a", "outer"), run.step("b", "inner") as inner:
            raise ValueError("deep")
    [failure] = publisher.of("AgentFailure")
    assert failure["step_id"] == inner.step_id
    assert [item["status"] for item in publisher.of("StepEnded")] == ["failed", "failed"]


def test_fail_without_an_exception() -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher).start_run() as run:
        run.fail("GoalNotReached", message="no ticket", metadata={"tries": 2})
    assert publisher.of("AgentFailure")[0]["error_type"] == "GoalNotReached"
    ended = publisher.of("RunEnded")[0]
    assert (ended["status"], ended["error_type"]) == ("failed", "GoalNotReached")


def test_steps_nest_and_can_be_skipped() -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher, options=explicit()).start_run() as run, run.step("plan", "outer") as outer:  # noqa: SIM117 - a run, and what is inside it
        with run.step("tool", "inner") as inner:
            inner.skip(cached=True)
    first, second = publisher.of("StepStarted")
    assert (second["parent_step_id"], second["parent_span_id"]) == (outer.step_id, outer.span_id)
    assert first["parent_step_id"] is None
    assert [item["status"] for item in publisher.of("StepEnded")] == ["skipped", "succeeded"]
    assert publisher.of("StepEnded")[0]["metadata"] == {"cached": True}


def test_decorators_for_steps_actions_and_model_calls() -> None:
    publisher = InMemoryPublisher()
    run = make_tracer(publisher, options=explicit()).start_run().start()

    @run.step("tool", "add")
    def add(a: int, b: int) -> int:
        return a + b

    @run.step("tool", "aadd")
    async def aadd(a: int, b: int) -> int:
        return a + b

    @run.acting("message", "said something")
    def say() -> str:
        return "x"

    @run.model_call(model="m-0")
    def ask(*, model: str, messages: Any) -> str:
        return f"{model}: {messages}"

    @run.model_call(model="m-0")
    async def aask(messages: Any) -> str:
        return str(messages)

    assert (add(1, 2), add(3, 4), asyncio.run(aadd(1, 1)), say()) == (3, 7, 2, "x")
    assert ask(model="m-9", messages="q") == "m-9: q"
    assert asyncio.run(aask("later")) == "later"
    run.close()
    started = publisher.of("StepStarted")
    assert [item["name"] for item in started] == ["add", "add", "aadd"]
    assert len({item["step_id"] for item in started}) == 3
    events = publisher.of("DecisionEvent")
    assert [item["agent_action"]["action_type"] for item in events] == ["message"] * 3
    assert [item["prompt_provenance"]["model"] for item in events[1:]] == ["m-9", "m-0"]
    assert events[2]["prompt_provenance"]["prompt_bundle"]["messages"] == [{"role": "user", "content": "later"}]
    validated(publisher)


def test_action_in_a_block_collects_artifacts() -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher).start_run() as run:
        with run.acting("edit", "change a") as action:
            action.artifacts.append(run.artifacts.file_edit("a.py", "x = 1\n", "x = 2\n"))
        with pytest.raises(OSError, match="no"), run.acting("deploy", "never happened"):
            raise OSError("no")
    [event] = publisher.of("DecisionEvent")
    assert event["agent_action"]["artifacts"][0]["metadata"]["lines_added"] == 1
    validated(publisher)


def test_tool_results_come_with_the_next_decision_event() -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher, tools={"add": lambda a: a, "bad": lambda: 1 / 0}).start_run() as run:
        run.tools.execute("add", {"a": 1}, tool_use_id="c1")
        with pytest.raises(ZeroDivisionError):
            run.tools.execute("bad", tool_use_id="c2")
        run.model_call(lambda **_: "ok", model="m", messages="q")
        run.no_op("done")
    first, second = publisher.of("DecisionEvent")
    results = [
        (item["tool_call_id"], item["output"], item["is_error"]) for item in first["agent_action"]["tool_results"]
    ]
    assert results == [("c1", "1", False), ("c2", "division by zero", True)]
    assert second["agent_action"]["tool_results"] == []


def test_a_failed_model_call_is_recorded_with_what_was_sent() -> None:
    publisher = InMemoryPublisher()

    def fail(**_: Any) -> None:
        raise ConnectionError("down")

    with make_tracer(publisher).start_run() as run, pytest.raises(ConnectionError):
        run.model_call(fail, model="m", messages="q")
    [event] = publisher.of("DecisionEvent")
    assert event["prompt_provenance"]["prompt_bundle"]["messages"][0]["content"] == "q"
    assert event["model_output"]["output_raw"] is None
    assert event["agent_action"]["action_summary"] == "the model call failed with ConnectionError"


def test_tokens_add_up_over_the_run() -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher).start_run() as run:
        for _ in range(2):
            with run.model_call(model="m", messages="q") as call:
                call.record({"content": "a", "usage": {"input_tokens": 3, "output_tokens": 4}})
    ended = publisher.of("RunEnded")[0]
    assert (ended["input_tokens"], ended["output_tokens"]) == (6, 8)


def test_fork_in_mid_run() -> None:
    """The run belongs to the parent: a child's records of it are refused, its own runs are its own."""
    publisher = InMemoryPublisher()
    tracer = make_tracer(publisher, strict=False)
    reader, writer = os.pipe()
    with tracer.start_run() as run:
        child = os.fork()
        if child == 0:
            try:
                before = len(publisher.messages)
                run.no_op("from the child")
                run.close()
                grown = len(publisher.messages) - before
                with tracer.start_run("child's own") as own:
                    pass
                fine = grown == 0 and own.recorder.channel.kept == 2
                os.write(writer, b"ok" if fine else b"no")
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        run.no_op("from the parent")
    os.close(writer)
    assert os.read(reader, 10) == b"ok"
    os.close(reader)
    assert types(publisher) == ["RunStarted", "DecisionEvent", "RunEnded"]


def test_interpreter_exit_closes_open_runs_as_aborted(tmp_path: Path) -> None:
    """Best effort, before the publisher's own exit, the innermost run first."""
    program = textwrap.dedent(
        """
        import atexit, sys
        from tachograph.producers import Tracer
        from tachograph.producers.testing import InMemoryPublisher
        publisher = InMemoryPublisher()
        def show():
            for kind, record in publisher.records:
                print(kind, record.get("status"), record["run_id"])
        atexit.register(show)
        tracer = Tracer(agent_id="a", publisher=publisher)
        outer = tracer.start_run(run_id="outer").start()
        inner = tracer.start_run(run_id="inner").start()
        inner.step("plan", "open for ever").__enter__()
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "RunStarted None outer",
        "RunStarted None inner",
        "StepStarted None inner",
        "RunEnded aborted inner",
        "RunEnded aborted outer",
    ]
    assert done.stderr == ""


def test_a_tracer_is_told_where_to_publish(workspace: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An address in place of the settings'; with a publisher of its own there is none to give."""
    tracer = Tracer("agent", "1.0", bootstrap_servers="127.0.0.1:1")
    with tracer.start_run("hello"):
        pass
    tracer.close(0)
    assert "the broker at 127.0.0.1:1 has not acknowledged" in caplog.text
    assert (workspace / ".tachograph" / "spool").is_dir()
    with pytest.raises(ConfigError, match="not both"):
        Tracer("agent", publisher=InMemoryPublisher(), bootstrap_servers="127.0.0.1:1")


def test_a_run_is_closed_once() -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher).start_run() as run:
        run.close()
    assert types(publisher) == ["RunStarted", "RunEnded"]
    assert isinstance(run, Run)


def test_a_start_that_raises_leaves_nothing_behind() -> None:
    """In strict mode a refused step or run raises; the code after it is not inside of it."""
    with make_tracer(strict=True, options=explicit()).start_run() as run:
        with pytest.raises(PrivacyError):
            run.step("plan", "s", metadata={"prompt": "x"}).__enter__()
        assert run.current_step() is None
        with pytest.raises(PrivacyError):
            make_tracer(strict=True).start_run(metadata={"prompt": "x"}).start()
        assert current_run() is run
    assert current_run() is None
