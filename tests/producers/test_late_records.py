"""Records made by the sender's thread, at level memory: the same bytes, the same order, nothing raw on the way."""

import asyncio
import copy
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.producers import Tracer, TracerOptions
from tachograph.producers.capture import CapturePolicy
from tachograph.producers.hooks import HookMatcher, HookRegistry, PostHookResult
from tachograph.producers.late_record import MOST_LATE_BYTES
from tachograph.producers.publishing import SpoolFull
from tachograph.producers.snapshots import snapshot
from tachograph.producers.spool import SpoolOptions, SpoolPublisher
from tachograph.producers.testing import FixedClock, InMemoryPublisher, KeptRecord
from tachograph.producers.tools import ToolExecutor
from tachograph.schemas.topics import EVENTS
from tachograph.schemas.wire.codec import Codec
from tests.producers.spool.fakes import FakeBroker
from tests.producers.support import KEY, SECRET, explicit, make_tracer

HASH_KEY = bytes(range(32))


def spool(broker: FakeBroker, **options: Any) -> SpoolPublisher:
    """A publisher at level memory whose thread is the test itself."""
    return SpoolPublisher(SpoolOptions(durability="memory", **options), transport=broker.connect, start=False)


def arrived(publisher: SpoolPublisher, broker: FakeBroker) -> list[KeptRecord]:
    """Let the sender work, then read the topic."""
    while publisher.turn():
        pass
    [values] = broker.values(EVENTS.name).values()
    return [KeptRecord(*Codec().decode(value)) for value in values]


def agent(tracer: Tracer) -> None:
    """Uses everything that a tool call can be."""

    def noted(_context: Any, _output: Any) -> PostHookResult:
        return PostHookResult(metadata={"attempt": 1})

    tracer.hooks.register(HookMatcher(pattern="hooked", post_hooks=(noted,)))
    tools: dict[str, Callable[..., Any]] = {
        "plain": lambda **given: given,
        "hooked": lambda **given: list(given),
        "odd": lambda **_given: object(),
        "large": lambda **_given: "x" * 2 * MOST_LATE_BYTES,
        "silent": lambda **_given: None,
    }
    with tracer.start_run("go", run_id="r", trace_id="0" * 31 + "1") as run, run.step("tool", "all", step_id="s"):
        for number, (name, tool) in enumerate(tools.items()):
            run.tools.register(tool, name)
            run.tools.execute(name, {"key": SECRET, "deep": [{"n": number}]}, tool_use_id=f"t{number}")
        run.model_call(lambda **_: "fine", model="m", messages="what came of it?")
        run.tools.register(_raises(KeyError("x")), "failing")
        with pytest.raises(KeyError):
            run.tools.execute("failing", tool_use_id="t9")


@pytest.mark.parametrize("mode", ["redacted", "hashed", "full"])
def test_late_records_are_the_records(mode: str) -> None:
    """Whole records are the same as where each is made at once, ids made at random aside."""

    def records(publisher: Any) -> Any:
        policy = CapturePolicy(mode, hash_key=HASH_KEY)  # type: ignore[arg-type]
        agent(Tracer("a", publisher=publisher, capture=policy, capture_key=KEY, strict=False, options=explicit()))

    def told(kept: list[KeptRecord]) -> list[tuple[str, dict[str, Any]]]:
        changing = {"event_id", "occurred_at", "span_id", "parent_span_id", "failure_id", "capture_ids", "duration_ms"}

        def same(value: Any) -> Any:
            if isinstance(value, dict):
                return {
                    key: same(item) for key, item in value.items() if key not in {*changing, "latency_ms", "request_id"}
                }
            return [same(item) for item in value] if isinstance(value, list) else value

        return [(item.type, same(item.record)) for item in kept]

    at_once, broker = InMemoryPublisher(), FakeBroker()
    late = spool(broker)
    records(at_once)
    records(late)
    assert told(arrived(late, broker)) == told(at_once.records)


def test_what_the_agent_changes_afterwards_is_not_recorded() -> None:
    """A record says what was given and returned, not what became of it."""
    broker = FakeBroker()
    publisher = spool(broker)
    given, answer = {"list": [1], "deep": {"a": "b"}}, {"rows": [1]}
    with make_tracer(publisher, tools={"t": lambda **_: answer}).start_run() as run:
        run.tools.execute("t", given)
        given["list"].append(2)  # type: ignore[attr-defined]
        given["deep"]["a"] = "c"  # type: ignore[index]
        answer["rows"].clear()
    legs = [item.record for item in arrived(publisher, broker) if item.type == "ToolCallRecord"]
    assert legs[0]["tool_input"] == '{"deep":{"a":"b"},"list":[1]}'
    assert legs[1]["output"] == '{"rows":[1]}'


def test_nothing_raw_reaches_the_transport() -> None:
    """A secret in input and output is gone before a message is sent."""
    broker = FakeBroker()
    publisher = spool(broker)
    with make_tracer(publisher, tools={"t": lambda text: text}).start_run() as run:
        run.tools.execute("t", {"text": f"use {SECRET} now"})
    assert len(arrived(publisher, broker)) == 5
    sent = b"".join(kept.message.value for log in broker.logs[EVENTS.name] for kept in log)
    assert SECRET.encode() not in sent
    assert b"[REDACTED:" in sent


def test_a_record_that_cannot_be_made_is_replaced_by_its_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number is taken, so EventsDropped takes its place; the run's end counts it."""
    broker = FakeBroker()
    publisher = spool(broker)
    with make_tracer(publisher, tools={"t": lambda: 1}).start_run() as run:
        run.tools.execute("t")

    def broken(*_given: Any, **_fields: Any) -> bytes:
        raise MemoryError

    monkeypatch.setattr("tachograph.producers.tools.late_legs.leg_tail", broken)
    kept = arrived(publisher, broker)
    assert [item.type for item in kept] == ["RunStarted", *["EventsDropped"] * 3, "RunEnded"]
    assert [item.record["seq"] for item in kept] == [0, 1, 2, 3, 4]
    assert kept[1].record["reason"] == "encode_failed"
    assert kept[1].record["record_types"] == ["ToolCallRecord"]
    assert (kept[-1].record["emitted"], kept[-1].record["dropped"]) == (5, 3)


def test_a_record_that_turns_out_too_large_is_replaced_by_its_report() -> None:
    """The size is known only when it is made."""
    broker = FakeBroker()
    publisher = spool(broker, max_message_bytes=3000)
    with make_tracer(publisher, tools={"t": lambda: "x" * 5000}).start_run() as run:
        run.tools.execute("t")
    kept = arrived(publisher, broker)
    dropped = [item.record for item in kept if item.type == "EventsDropped"]
    assert [item["reason"] for item in dropped] == ["too_large"]
    assert [item.record["seq"] for item in kept] == list(range(5))
    assert kept[-1].record["dropped"] == 1
    assert publisher.stats().dropped == 1


def test_a_full_queue_drops_and_says_so() -> None:
    """Waiting records count by what they hold, before they are made."""
    broker = FakeBroker()
    publisher = spool(broker, max_bytes=6000, when_full="drop")
    with make_tracer(publisher, tools={"t": lambda: "x" * 5000}).start_run() as run:
        assert run.tools.execute("t") == "x" * 5000
        while publisher.turn():
            pass
        run.tools.execute("t")
        while publisher.turn():
            pass
    kept = arrived(publisher, broker)
    assert [item.record["seq"] for item in kept] == list(range(len(kept)))
    reports = [item.record for item in kept if item.type == "EventsDropped"]
    assert {item["reason"] for item in reports} == {"spool_full"}
    assert sum(item["count"] for item in reports) == kept[-1].record["dropped"] > 0


def test_a_full_queue_is_the_agents_to_hear_of_if_it_wants_to() -> None:
    """``when_full="raise"`` holds for records that are not made yet."""
    publisher = spool(FakeBroker(), max_bytes=3000, when_full="raise")
    with pytest.raises(SpoolFull), make_tracer(publisher, tools={"t": lambda: 1}).start_run() as run:
        run.tools.execute("t", {"text": "x" * 4000})
    while publisher.turn():
        pass
    assert run.finish()  # there is room again


def test_loops_are_faults_at_once() -> None:
    """The loop guard does not wait for the sender."""
    broker = FakeBroker()
    publisher = spool(broker)
    tracer = make_tracer(publisher, tools={"t": lambda n: n}, options=TracerOptions(loop_threshold=2))
    with tracer.start_run() as run:
        for number in (1, 1, 2, 1):
            run.tools.execute("t", {"n": number})
    kept = [item.type for item in arrived(publisher, broker)]
    assert kept == ["RunStarted", *["ToolCallRecord"] * 11, "AgentFailure", "ToolCallRecord", "RunEnded"]


def test_an_audit_trail_is_written_before_the_call_goes_on() -> None:
    """It is a file, and has captured forms only: such a run leaves nothing for later."""
    broker = FakeBroker()
    publisher = spool(broker)
    with make_tracer(publisher, tools={"t": lambda key: key}, audit=True).start_run() as run:
        run.tools.execute("t", {"key": SECRET})
        assert run.audit is not None
        lines = run.audit.tool_calls_file.read_text()
    assert lines.count("\n") == 2
    assert SECRET not in lines


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_leaves_late_records_to_its_parent() -> None:
    """They arrive once, though the fork came while they waited."""
    broker = FakeBroker()
    publisher = SpoolPublisher(SpoolOptions(durability="memory", linger=0), transport=broker.connect)
    with make_tracer(publisher, tools={"t": lambda n: n}).start_run() as run:
        for number in range(50):
            run.tools.execute("t", {"n": number})
        child = os.fork()
        if not child:
            try:
                CapturePolicy().text(f"use {SECRET}")  # redaction works on in the child
                os._exit(0 if not broker.logs or run.recorder.channel.is_foreign else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
    assert publisher.flush(30)
    publisher.close()
    [values] = broker.values(EVENTS.name).values()
    assert [Codec().decode(value)[1]["seq"] for value in values] == list(range(152))


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=20)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner), max_leaves=20
)


@given(values)
def test_a_copy_is_captured_like_the_value(value: Any) -> None:
    """Law: capture(copy(v)) = capture(v), and no list or dict of the copy is the value's own."""
    policy = CapturePolicy(hash_key=HASH_KEY)
    expected = policy.value(copy.deepcopy(value))
    made = snapshot(value, 1 << 20)
    assert made is not None
    assert policy.value(made[0]) == expected
    assert not _containers(made[0]) & _containers(value)


def _containers(value: Any) -> set[int]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    own = {id(value)} if isinstance(value, (dict, list)) else set()
    return own.union(*map(_containers, inner))


def _cycle() -> list[Any]:
    made: list[Any] = []
    made += [made, made]
    return made


class _Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(object(), id="an object"),
        pytest.param({"a": {1}}, id="a set"),
        pytest.param(bytearray(b"x"), id="bytes that change"),
        pytest.param({1: "a"}, id="a key that is no text"),
        pytest.param({"a": {1: "a"}}, id="such a key within"),
        pytest.param(_Text("x"), id="a text with code of its own"),
        pytest.param("x" * 2000, id="a long text"),
        pytest.param("é" * 400, id="a text that is long in bytes"),
        pytest.param({"a": 1 << 20_000}, id="a long number"),
        pytest.param([[]] * 200, id="many"),
        pytest.param(_cycle(), id="a cycle of two branches"),
    ],
)
def test_what_is_not_copied_is_captured_at_once(value: Any) -> None:
    """No copy is made of what is large, deep, or not of JSON's own kinds."""
    assert snapshot(value, 1024) is None


def _raises(error: BaseException) -> Callable[[], Any]:
    def tool() -> Any:
        raise error

    return tool


async def _waits() -> str:
    await asyncio.sleep(0)
    return "awaited"


async def _hangs() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    "tool",
    [
        pytest.param(lambda: 1, id="returns"),
        pytest.param(_waits, id="async"),
        pytest.param(_hangs, id="hangs"),
        pytest.param(_raises(ValueError("no")), id="raises"),
        pytest.param(_raises(KeyboardInterrupt()), id="is interrupted"),
        pytest.param(_raises(GeneratorExit()), id="raises what closes generators"),
    ],
)
def test_calls_without_hooks_take_the_same_course(tool: Callable[[], Any]) -> None:
    """The short way and the way of a registry with a hook for some other tool give the same records and results."""

    def outcome(hooks: HookRegistry) -> tuple[Any, list[Any]]:
        publisher = InMemoryPublisher()
        tracer = make_tracer(
            publisher,
            tools={"t": tool},
            hooks=hooks,
            clock=FixedClock(step_micros=0),
            options=explicit(tool_timeout=0.01),
        )
        result: Any
        run = tracer.start_run().start()
        try:
            result = run.tools.execute("t")
        except BaseException as error:  # noqa: BLE001 - compared
            result = repr(error)
        run.close()
        return result, publisher.records

    other = HookRegistry([HookMatcher(pattern="other")])
    assert outcome(HookRegistry()) == outcome(other)


def test_an_executor_without_a_run_runs_tools() -> None:
    """The short way needs no recorder."""
    assert ToolExecutor({"add": lambda a, b: a + b}).execute("add", {"a": 1, "b": 2}) == 3
