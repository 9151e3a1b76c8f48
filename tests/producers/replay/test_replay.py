"""An agent's own code against a recording: equal, or the first difference; and nothing happens."""

import asyncio
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tachograph.producers import (
    HookAction,
    HookMatcher,
    HookRegistry,
    PostHookResult,
    PreHookResult,
    Tracer,
)
from tachograph.producers.replay import (
    DivergenceKind,
    NetworkRefusedError,
    NotReplayableError,
    RecordingError,
    ReplayDivergedError,
    ReplayedError,
    Revival,
    recording_of,
)
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.recording import Recording
from tests.producers.replay.agent import World, answer, recorded
from tests.producers.support import SECRET, explicit, make_tracer


def replayer(**fields: Any) -> Tracer:
    """A tracer that would tell if it published anything of a replay."""
    return make_tracer(InMemoryPublisher(), **fields)


def says(text: str) -> Any:
    """A model with one answer."""
    return lambda **_: text


def of(publisher: InMemoryPublisher) -> Recording:
    return recording_of(publisher.of("RunStarted")[0]["run_id"], publisher.records)


def test_the_same_code_gives_the_same_and_does_nothing(tmp_path: Path) -> None:
    """Neither model nor tool is called, nothing is published, and the answer is that of then."""
    recording = recorded(tmp_path)
    tracer, world = replayer(), World()
    with tracer.replaying(recording.run_id, tmp_path) as replay:
        assert answer(tracer, world) == "You get 12 euros back."
    assert replay.divergence is None
    assert (world.asked, world.refunds) == (0, [])
    published = tracer.publisher
    assert isinstance(published, InMemoryPublisher)
    assert published.messages == []
    assert [kept.type for kept in replay.publisher.records if kept.type == "ToolCallRecord"]


@pytest.mark.parametrize(
    ("change", "kind", "call"),
    [
        pytest.param({"question": "Why?"}, DivergenceKind.REQUEST_CHANGED, "run", id="another request"),
        pytest.param({"words": " Be brief."}, DivergenceKind.PROMPT_CHANGED, "model m-1", id="another prompt"),
        pytest.param({"cents": 1}, DivergenceKind.TOOL_INPUT_CHANGED, "tool refund", id="another input"),
        pytest.param({"tool": "search"}, DivergenceKind.TOOL_CHANGED, "tool search", id="another tool"),
        pytest.param({"selected": "search"}, DivergenceKind.DECISION_CHANGED, "decision", id="another decision"),
        pytest.param({"again": False}, DivergenceKind.MISSING_CALL, "model m-1", id="a call less"),
    ],
)
def test_the_first_difference_is_typed(change: dict[str, Any], kind: DivergenceKind, call: str) -> None:
    """It names the call and both hashes, and none of the content."""
    recording = recorded()
    tracer, world = replayer(), World()
    with pytest.raises(ReplayDivergedError) as raised, tracer.replaying(recording.run_id, recording):
        answer(tracer, world, **change)
    found = raised.value.divergence
    assert (found.kind, found.call) == (kind, call)
    assert (found.expected_call, found.expected) != (found.call, found.got)
    assert world.refunds == []
    told = str(raised.value) + str(found.as_json())
    assert not any(word in told for word in ("charged", "1200", "brief", "12 euros"))


def test_a_call_more_is_unexpected() -> None:
    """The recording has nothing left for it."""
    recording = recorded()
    tracer, world = replayer(), World()
    with pytest.raises(ReplayDivergedError) as raised, tracer.replaying(recording.run_id, recording):
        _answer_twice(tracer, world)
    assert raised.value.divergence.kind is DivergenceKind.UNEXPECTED_RUN


def _answer_twice(tracer: Tracer, world: World) -> None:
    answer(tracer, world)
    answer(tracer, world)


def test_an_agent_cannot_keep_a_difference_to_itself() -> None:
    """Code that catches everything is told again, and the block raises."""
    recording = recorded()
    tracer = replayer()
    with pytest.raises(ReplayDivergedError) as raised, tracer.replaying(recording.run_id, recording):
        _answer_whatever_happens(tracer)
    assert raised.value.divergence.kind is DivergenceKind.TOOL_INPUT_CHANGED


def _answer_whatever_happens(tracer: Tracer) -> None:
    with suppress(Exception):
        answer(tracer, World(), cents=7)


def test_code_that_does_nothing_is_different() -> None:
    """A replay in which no run was started is no equal one."""
    recording = recorded()
    with pytest.raises(ReplayDivergedError) as raised, replayer().replaying(recording.run_id, recording):
        pass
    assert (raised.value.divergence.kind, raised.value.divergence.call) == (DivergenceKind.MISSING_CALL, "run")


def test_there_is_no_network() -> None:
    """A socket that would connect, or ask for a name, is refused and told of; afterwards all is as before."""
    recording = recorded()
    tracer = replayer()

    def reaching() -> None:
        with pytest.raises(NetworkRefusedError), socket.socket() as one:
            one.connect(("127.0.0.1", 9))
        with pytest.raises(NetworkRefusedError):
            socket.getaddrinfo("localhost", 80)

    with pytest.raises(ReplayDivergedError) as raised, tracer.replaying(recording.run_id, recording):
        reaching()
    assert raised.value.divergence.kind is DivergenceKind.NETWORK
    assert socket.getaddrinfo("localhost", 80)


def test_redacted_content_that_comes_back_is_known_again() -> None:
    """A prompt built from a redacted result hashes differently; its captured form is the same."""

    def agent(tracer: Tracer, key: str) -> None:
        tracer.tools["vault"] = lambda: {"key": key}
        with tracer.start_run("look") as run:
            found = run.tools.execute("vault")
            run.model_call(says("thanks"), model="m", messages=[f"use {found['key']}"])

    publisher = InMemoryPublisher()
    agent(make_tracer(publisher), SECRET)
    recording = of(publisher)
    assert SECRET not in recording.model_dump_json()
    tracer = replayer()
    with tracer.replaying(recording.run_id, recording):
        agent(tracer, "never used")


def test_hashes_cannot_be_served() -> None:
    """A run in mode hashed has no content: said at once, with what to do."""
    with pytest.raises(NotReplayableError, match="redacted or full"):
        replayer().replaying("r", recorded_as_r(capture="hashed"))


def recorded_as_r(**fields: Any) -> Recording:
    publisher = InMemoryPublisher()
    tracer = make_tracer(publisher, options=explicit(), **fields)
    tracer.tools["echo"] = lambda text: text
    with tracer.start_run("q", run_id="r") as run:
        run.tools.execute("echo", {"text": "x" * 70_000})
    return of(publisher)


def test_content_that_is_not_whole_cannot_be_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in an artifact store and was not fetched is missed when it is needed, and nothing else."""
    monkeypatch.chdir(tmp_path)
    recording = recorded_as_r()
    tracer = replayer()
    tracer.tools["echo"] = lambda text: text
    with pytest.raises(NotReplayableError, match="artifact"), tracer.replaying("r", recording):
        _call_echo(tracer)


def _call_echo(tracer: Tracer) -> Any:
    with tracer.start_run("q") as run:
        return run.tools.execute("echo", {"text": "x" * 70_000})


def test_large_content_is_served_where_it_can_be_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Artifacts that the exporter can read are part of the recording; the replay writes none."""
    monkeypatch.chdir(tmp_path)
    publisher = InMemoryPublisher()
    recorder = make_tracer(publisher, options=explicit())
    recorder.tools["echo"] = lambda text: text
    with recorder.start_run("q", run_id="r") as run:
        run.tools.execute("echo", {"text": "x" * 70_000})
    legs = publisher.of("ToolCallRecord")
    contents = {
        legs[0]["input_pointer"]["artifact_id"]: '{"text":"' + "x" * 70_000 + '"}',
        legs[1]["output_pointer"]["artifact_id"]: '"' + "x" * 70_000 + '"',
    }
    recording = recording_of("r", publisher.records, fetch=contents.get)
    before = sorted(tmp_path.rglob("*"))
    tracer = replayer()
    with tracer.replaying("r", recording):
        assert _call_echo(tracer) == "x" * 70_000
    assert sorted(tmp_path.rglob("*")) == before


def test_errors_come_back_as_what_they_were() -> None:
    """Python's own classes and named ones are raised; others as ReplayedError with the name. Model errors, too."""

    class OutOfStock(Exception):  # noqa: N818 - the agent's own
        pass

    class Strange(Exception):  # noqa: N818 - as above
        pass

    def failing(error: Exception) -> Any:
        def tool() -> None:
            raise error

        return tool

    def refuse(**_: Any) -> Any:
        raise AssertionError("a replay calls nothing")

    publisher = InMemoryPublisher()
    tools = {"one": failing(ValueError("a")), "two": failing(OutOfStock("b")), "three": failing(Strange("c"))}
    recorder = make_tracer(publisher, tools=tools)

    def model(**_: Any) -> Any:
        raise KeyError("x")

    def whole(tracer: Tracer, ask: Any) -> list[type[Exception]]:
        seen: list[type[Exception]] = []
        with tracer.start_run("q") as run:
            for name in ("one", "two", "three"):
                try:
                    run.tools.execute(name)
                except Exception as error:  # noqa: BLE001 - compared below
                    seen.append(type(error))
            try:
                run.model_call(ask, model="m", messages=["hi"])
            except Exception as error:  # noqa: BLE001 - compared below
                seen.append(type(error))
        return seen

    assert whole(recorder, model) == [ValueError, OutOfStock, Strange, KeyError]
    tracer = replayer(tools={"one": refuse, "two": refuse, "three": refuse})
    with tracer.replaying(of(publisher).run_id, of(publisher), revival=Revival(errors={"OutOfStock": OutOfStock})):
        assert whole(tracer, refuse) == [ValueError, OutOfStock, ReplayedError, KeyError]


def test_pre_hooks_decide_again_and_post_hooks_do_not() -> None:
    """A hook that would skip now is a difference; a post-hook's change is in the recording already."""
    hooks = HookRegistry()
    hooks.register(HookMatcher(post_hooks=(lambda _context, output: PostHookResult(modified_output=output + 1),)))

    def agent(tracer: Tracer) -> int:
        tracer.tools["count"] = lambda: 1
        with tracer.start_run("q") as run:
            return int(run.tools.execute("count"))

    publisher = InMemoryPublisher()
    assert agent(make_tracer(publisher, hooks=hooks)) == 2
    recording = of(publisher)
    tracer = replayer(hooks=hooks)
    with tracer.replaying(recording.run_id, recording):
        assert agent(tracer) == 2
    hooks.register(HookMatcher(pre_hooks=(lambda _context: PreHookResult(HookAction.SKIP, reason="no"),)))
    with pytest.raises(ReplayDivergedError) as raised, tracer.replaying(recording.run_id, recording):
        agent(tracer)
    assert raised.value.divergence.kind is DivergenceKind.HOOK_CHANGED


def test_code_around_calls_asks_whether_they_are_served() -> None:
    """``with`` blocks: a tool's output is there before the block, a model's is what ``record`` returns."""
    ran: list[str] = []

    def agent(tracer: Tracer) -> list[Any]:
        with tracer.start_run("q") as run:
            with run.tools.call("search", {"query": "x"}) as call:
                if not call.skipped:
                    ran.append("tool")
                    call.output = ["a", "b"]
            with run.model_call(model="m", messages=["hi"]) as asked:
                if asked.served is None:
                    ran.append("model")
                reply = asked.record("hello" if asked.served is None else None)
            return [call.output, reply]

    publisher = InMemoryPublisher()
    then = agent(make_tracer(publisher))
    assert ran == ["tool", "model"]
    tracer = replayer()
    with tracer.replaying(of(publisher).run_id, of(publisher)):
        assert agent(tracer) == then == [["a", "b"], "hello"]
    assert ran == ["tool", "model"]


def test_async_code_may_finish_in_another_order() -> None:
    """Calls that overlapped are served by content whatever their order; the functions are not called."""
    called: list[str] = []
    together = asyncio.Barrier(6)

    async def complete(model: str, messages: list[str]) -> str:  # noqa: ARG001 - a client's shape
        called.append(messages[0])
        await together.wait()
        return messages[0].upper()

    async def fetch(name: str) -> str:
        called.append(name)
        await together.wait()
        return name * 2

    async def agent(tracer: Tracer, words: list[str]) -> list[str]:
        tracer.tools["fetch"] = fetch
        async with tracer.start_run("q") as run:
            asked = [run.model_call(complete, model="m", messages=[word]) for word in words]
            fetched = [run.tools.aexecute("fetch", {"name": word}) for word in words]
            return sorted(await asyncio.gather(*asked, *fetched))

    publisher = InMemoryPublisher()
    then = asyncio.run(agent(make_tracer(publisher), ["a", "b", "c"]))
    assert len(called) == 6
    tracer = replayer()
    with tracer.replaying(of(publisher).run_id, of(publisher)):
        assert asyncio.run(agent(tracer, ["c", "a", "b"])) == then == ["A", "B", "C", "aa", "bb", "cc"]
    assert len(called) == 6


def test_what_a_tool_did_inside_is_not_missed() -> None:
    """The tool is not run again, so its own calls, steps and sub-agents do not come; its result is served."""

    def agent(tracer: Tracer) -> str:
        def helper() -> str:
            with tracer.start_run("sub") as sub:
                sub.model_call(says("inner"), model="m", messages=["sub"])
            run = top[0]
            with run.step("tool", "inside"):
                run.model_call(says("deep"), model="m", messages=["deep"])
            run.tools.execute("leaf")
            return "done"

        top: list[Any] = []
        tracer.tools.update({"helper": helper, "leaf": lambda: 1})
        with tracer.start_run("q") as run:
            top.append(run)
            return str(run.tools.execute("helper"))

    publisher = InMemoryPublisher()
    agent(make_tracer(publisher))
    tracer = replayer()
    with tracer.replaying(of(publisher).run_id, of(publisher)):
        assert agent(tracer) == "done"


def test_sub_agents_are_served_too() -> None:
    """A run inside the run is found by its request."""

    def agent(tracer: Tracer, ask: Any) -> list[str]:
        said = []
        with tracer.start_run("top"):
            for topic in ("one", "two"):
                with tracer.start_run(topic) as sub:
                    said.append(sub.model_call(ask, model="m", messages=[topic]))
        return said

    publisher = InMemoryPublisher()
    then = agent(make_tracer(publisher), lambda messages, **_: messages[0] + "!")
    tracer = replayer()
    with tracer.replaying(of(publisher).run_id, of(publisher)):
        assert agent(tracer, says("never")) == then == ["one!", "two!"]


def test_files_that_are_no_recordings_are_refused(tmp_path: Path) -> None:
    """Cut off, foreign, or of another run: a sentence that says what to do."""
    path = recorded().save(tmp_path)
    tracer = replayer()
    with pytest.raises(RecordingError, match="recording export"):
        tracer.replaying("another", tmp_path)
    with pytest.raises(RecordingError, match="not of another"):
        tracer.replaying("another", path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(RecordingError, match="export it again"):
        Recording.load(path)
    path.write_text("{}")
    with pytest.raises(RecordingError, match="not a recording"):
        Recording.load(path)
