"""Whatever an agent passes in, it goes on, and what is recorded can be read."""

import math
from typing import Any

import pytest

from tachograph.producers.testing import InMemoryPublisher
from tests.producers.support import explicit, make_tracer, types, validated


class Unfriendly:
    """Raises from everything that a recorder might call."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    __str__ = __repr__

    def __iter__(self) -> Any:
        raise RuntimeError("no iteration")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


CYCLE: dict[str, Any] = {}
CYCLE["self"] = CYCLE
DEEP: list[Any] = []
for _ in range(5000):
    DEEP = [DEEP]

VALUES = [
    pytest.param(object(), id="object"),
    pytest.param(Unfriendly(), id="unfriendly object"),
    pytest.param(CYCLE, id="cycle"),
    pytest.param(DEEP, id="deep"),
    pytest.param(math.nan, id="NaN"),
    pytest.param("\ud800 lone", id="lone surrogate"),
    pytest.param("x" * 3_000_000, id="huge text"),
    pytest.param(b"\xff\x00", id="bytes"),
    pytest.param({1: {2: 3}, None: {"\udfff"}}, id="odd keys"),
    pytest.param(2**200, id="huge integer"),
    pytest.param((item for item in "abc"), id="generator"),
    pytest.param(lambda: 1, id="function"),
]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("mode", ["redacted", "hashed", "full"])
def test_tools_take_and_give_anything(value: Any, mode: str) -> None:
    publisher = InMemoryPublisher()
    tracer = make_tracer(publisher, capture=mode, tools={"echo": lambda **given: given["v"]}, options=explicit())
    with tracer.start_run() as run:
        assert run.tools.execute("echo", {"v": value}) is value
        run.debug_snapshot()
    assert types(publisher).count("ToolCallRecord") == 3
    assert all(len(message.value) < 1_000_000 for message in publisher.messages)
    validated(publisher)


@pytest.mark.parametrize("value", VALUES)
def test_model_calls_take_and_give_anything(value: Any) -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher, strict=False, options=explicit()).start_run() as run:
        assert run.model_call(lambda **_: value, model="m", messages=[{"role": "user", "content": value}]) is value
    assert publisher.of("RunEnded")
    assert types(publisher) in (
        ["RunStarted", "DecisionEvent", "RunEnded"],
        ["RunStarted", "EventsDropped", "RunEnded"],
    )
    validated(publisher)


@pytest.mark.parametrize("value", VALUES)
def test_everything_else_takes_anything(value: Any) -> None:
    """Names, reasons, metadata, errors: refused or cut, counted, never raised in production."""
    publisher = InMemoryPublisher()
    tracer = make_tracer(publisher, strict=False, options=explicit())
    with tracer.start_run(value, constraints=[value], metadata={"k": value}, session_id="s") as run:
        with run.step("plan", "s", metadata=value):
            run.record_decision(
                decision_type=value, selected=value, reason_code=value, candidates=[value], confidence=value
            )
            run.record_quality_signal(signal_type="tool_success", signal_code=value, value=value, metadata=value)
        run.no_op(value)
        run.action("edit", "x", artifacts=[value])
        run.propose_record(outputs=value)
        run.fail("X", message="m", metadata=value)
    records = validated(publisher)
    assert [record.seq for record in records] == list(range(len(records)))


def test_a_large_conversation_fits_its_message() -> None:
    publisher = InMemoryPublisher()
    messages = [{"role": "user", "content": "word " * 10_000} for _ in range(100)]
    with make_tracer(publisher).start_run() as run:
        run.model_call(lambda **_: "ok", model="m", messages=messages)
    [event] = publisher.of("DecisionEvent")
    assert len(publisher.events[1].value) < 1_000_000
    assert event["prompt_provenance"]["prompt_bundle_hash"]
    validated(publisher)


def test_an_error_without_text() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("mute")

    publisher = InMemoryPublisher()

    def fail() -> None:
        raise MuteError

    with make_tracer(publisher, tools={"t": fail}).start_run() as run, pytest.raises(MuteError):
        run.tools.execute("t")
    assert publisher.of("AgentFailure")[0]["message"] == ""
    validated(publisher)
