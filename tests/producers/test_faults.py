"""Faults leave an encrypted capture and a failure record; what cannot be kept stops the run."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tachograph.producers import SystemErrorStop
from tachograph.producers.captures import MAGIC, PART_BYTES, CaptureKey
from tachograph.producers.publishing import Message
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.enums import FaultTrigger
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.headers import Header
from tachograph.schemas.topics import CAPTURES
from tests.producers.support import SECRET, decrypted, drop_when, explicit, make_tracer, types, validated


def header(message: Message, name: Header) -> str:
    return dict(message.headers)[name.value].decode()


def test_a_tool_error_captures_the_prompt_and_the_outputs_of_its_step() -> None:
    """Encrypted, bound to trace and place, and named by the failure record."""
    publisher = InMemoryPublisher()
    tools = {"read": lambda: f"raw {SECRET}", "fail": lambda: 1 / 0}
    with make_tracer(publisher, tools=tools).start_run() as run, run.step("tool", "s") as step:
        run.model_call(lambda **_: "ok", model="m", messages=f"prompt {SECRET}")
        run.tools.execute("read")
        with pytest.raises(ZeroDivisionError):
            run.tools.execute("fail", tool_use_id="call-9")
    prompt, output = publisher.captures
    assert json.loads(decrypted(prompt))["messages"] == [{"role": "user", "content": f"prompt {SECRET}"}]
    assert decrypted(output) == f"raw {SECRET}".encode()
    assert all(message.value.startswith(MAGIC) for message in publisher.captures)
    assert not [message for message in publisher.messages if SECRET.encode() in message.value]
    assert prompt.key == run.trace_id.encode()
    assert [header(item, Header.CAPTURE_KIND) for item in publisher.captures] == ["prompt", "tool_output"]
    assert header(output, Header.CAPTURE_STEP) == step.step_id
    assert header(output, Header.CAPTURE_TRIGGER) == "tool_error"
    assert header(output, Header.CAPTURE_SHA256) == hashlib.sha256(f"raw {SECRET}".encode()).hexdigest()
    [failure] = publisher.of("AgentFailure")
    assert (failure["trigger"], failure["error_type"], failure["tool_use_id"]) == (
        "tool_error",
        "ZeroDivisionError",
        "call-9",
    )
    assert failure["capture_ids"] == [header(item, Header.CAPTURE_ID) for item in publisher.captures]
    assert failure["step_id"] == step.step_id


def test_loop_guard_fires_once_past_the_threshold() -> None:
    publisher = InMemoryPublisher()
    options = explicit(loop_threshold=3)
    with make_tracer(publisher, tools={"t": lambda n: n}, options=options).start_run() as run:
        for _ in range(6):
            run.tools.execute("t", {"n": 1})
        for number in range(3):
            run.tools.execute("t", {"n": number + 10})
    assert [item["trigger"] for item in publisher.of("AgentFailure")] == ["loop_guard"]


@pytest.mark.parametrize("repairs", [0, 1, 2, 3])
def test_schema_repair(repairs: int) -> None:
    """It tries as often as allowed; what stays invalid is a fault, and the last error is the caller's."""
    publisher = InMemoryPublisher()

    def validate(value: int) -> str:
        if value:
            raise ValueError(f"{value} left")
        return "valid"

    with make_tracer(publisher).start_run() as run:
        if repairs == 3:
            with pytest.raises(ValueError, match="1 left"):
                run.schema_repair(3, validate=validate, repair=lambda value, _: value - 1, max_attempts=2)
        else:
            assert (
                run.schema_repair(repairs, validate=validate, repair=lambda value, _: value - 1, max_attempts=2)
                == "valid"
            )
    signals = [(item["signal_type"], item["signal_code"]) for item in publisher.of("AgentQualitySignal")]
    assert (
        signals
        == {
            0: [("schema_valid", "full_match")],
            1: [("schema_valid", "full_match"), ("retry_occurred", "single_retry")],
            2: [("schema_valid", "full_match"), ("retry_occurred", "multiple_retries")],
            3: [("schema_valid", "validation_failed")],
        }[repairs]
    )
    assert [item["trigger"] for item in publisher.of("AgentFailure")] == ["schema_repair_failed"] * (repairs == 3)


async def _async_repair(value: int, _: Exception) -> int:
    return value - 1


def test_schema_repair_in_async_code() -> None:
    import asyncio  # noqa: PLC0415 - this test only

    def validate(value: int) -> int:
        if value:
            raise ValueError("left")
        return value

    with make_tracer().start_run() as run:
        assert asyncio.run(run.aschema_repair(2, validate=validate, repair=_async_repair)) == 0


def test_missing_pointer_debug_request_and_system_error() -> None:
    publisher = InMemoryPublisher()
    with pytest.raises(SystemErrorStop), make_tracer(publisher).start_run() as run:  # noqa: PT012 - the error must pass through the block of the run
        run.model_call(lambda **_: "ok", model="m", messages="p")
        run.missing_pointer("artifact://gone")
        assert len(run.debug_snapshot()) == 1
        raise run.system_error(MemoryError("no room"))
    failures = publisher.of("AgentFailure")
    assert [item["trigger"] for item in failures] == ["missing_pointer", "debug_request", "SYSTEM_ERROR"]
    assert failures[0]["missing_pointer"] == "artifact://gone"
    assert all(len(item["capture_ids"]) == 1 for item in failures)
    assert publisher.of("RunEnded")[0]["status"] == "SYSTEM_ERROR"
    validated(publisher)


def test_a_capture_that_cannot_be_kept_stops_the_run() -> None:
    """SYSTEM_ERROR, with the missing pointer on record; the run cannot go on afterwards."""
    publisher = InMemoryPublisher(drops=drop_when(lambda message: message.topic == CAPTURES.name))
    with (  # noqa: PT012 - the error must pass through the block of the run
        pytest.raises(SystemErrorStop) as caught,
        make_tracer(publisher, tools={"f": lambda: 1 / 0}).start_run() as run,
    ):
        run.model_call(lambda **_: "ok", model="m", messages="p")
        with pytest.raises(SystemErrorStop) as first:
            run.tools.execute("f")
        assert isinstance(first.value.__cause__, ZeroDivisionError)
        with run.step("plan", "never begins"):
            pytest.fail("a stopped run has no more steps")
    assert caught.value.missing.startswith("capture:prompt:")
    failures = publisher.of("AgentFailure")
    assert [item["trigger"] for item in failures] == ["tool_error", "SYSTEM_ERROR"]
    assert failures[0]["missing_pointer"] == caught.value.missing
    assert publisher.of("RunEnded")[0]["status"] == "SYSTEM_ERROR"
    assert "StepStarted" not in types(publisher)


def test_an_output_too_large_to_be_held_is_missing_by_name() -> None:
    """17 MB that a fault would need are not silently absent: the run stops, and the record names them."""
    publisher = InMemoryPublisher()
    tools = {"big": lambda: "x" * (17 * 1024 * 1024), "f": lambda: 1 / 0}
    with pytest.raises(SystemErrorStop) as caught, make_tracer(publisher, tools=tools).start_run() as run:  # noqa: PT012 - the error must pass through the block of the run
        run.tools.execute("big")
        run.tools.execute("f")
    assert caught.value.missing.startswith("capture:tool_output:")
    assert caught.value.missing.endswith(":too_large")
    assert publisher.of("AgentFailure")[0]["missing_pointer"] == caught.value.missing
    assert publisher.of("RunEnded")[0]["status"] == "SYSTEM_ERROR"


def test_a_large_output_without_a_fault_stops_nothing() -> None:
    """Only a fault asks for it."""
    publisher = InMemoryPublisher()
    tools = {"big": lambda: "x" * (17 * 1024 * 1024)}
    with make_tracer(publisher, tools=tools).start_run() as run:
        run.tools.execute("big")
    assert publisher.of("RunEnded")[0]["status"] == "succeeded"


def test_no_key_is_as_bad_as_no_room(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    tracer = make_tracer(tools={"f": lambda: 1 / 0}, capture_key=blocked / "key", strict=False)
    with pytest.raises(SystemErrorStop), tracer.start_run() as run:  # noqa: PT012 - the error must pass through the block of the run
        run.model_call(lambda **_: "ok", model="m", messages="p")
        run.tools.execute("f")


def test_a_fault_without_prompt_or_output_is_only_a_record() -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher, tools={"f": lambda: 1 / 0}).start_run() as run, pytest.raises(ZeroDivisionError):
        run.tools.execute("f")
    assert publisher.captures == []
    assert publisher.of("AgentFailure")[0]["capture_ids"] == []


def test_large_captures_come_in_parts() -> None:
    publisher = InMemoryPublisher()
    text = "x" * (2 * PART_BYTES + 5)
    with make_tracer(publisher, tools={"read": lambda: text}).start_run() as run:
        run.tools.execute("read")
        [capture_id] = run.debug_snapshot()
    assert [header(item, Header.CAPTURE_PART) for item in publisher.captures] == ["0/3", "1/3", "2/3"]
    assert {header(item, Header.CAPTURE_ID) for item in publisher.captures} == {capture_id}
    assert b"".join(decrypted(item) for item in publisher.captures) == text.encode()


def test_one_in_n_prompts_is_sampled() -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher, options=explicit(sample_prompts=3)).start_run() as run:
        for number in range(7):
            run.model_call(lambda **_: "ok", model="m", messages=f"p{number}")
    assert [json.loads(decrypted(item))["messages"][0]["content"] for item in publisher.captures] == ["p2", "p5"]
    assert header(publisher.captures[0], Header.CAPTURE_TRIGGER) == FaultTrigger.SAMPLED.value
    assert publisher.of("AgentFailure") == []


def test_memory_of_faults_is_bounded() -> None:
    tools = {"t": lambda n: "x" * (1_000_000 + n)}
    with make_tracer(tools=tools, capture="full", options=explicit()).start_run() as run:
        for number in range(40):
            run.tools.execute("t", {"n": number})
        held = run.faults._held(None)
    assert sum(len(data) for _, _, data in held) <= 16 * 1024 * 1024


class TestCaptureKey:
    def test_is_made_once_and_only_its_owner_reads_it(self, tmp_path: Path) -> None:
        path = tmp_path / "keys" / "capture.key"
        first = CaptureKey.from_file(path)
        assert CaptureKey.from_file(path).key_id == first.key_id
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.read_text().strip() not in repr(first)

    @pytest.mark.parametrize("content", ["", "zz", "00"])
    def test_a_bad_file_is_refused(self, tmp_path: Path, content: str) -> None:
        path = tmp_path / "key"
        path.write_text(content)
        with pytest.raises(ConfigError):
            CaptureKey.from_file(path)

    def test_a_changed_or_moved_capture_does_not_decrypt(self) -> None:
        key = CaptureKey(bytes(32))
        sealed = key.encrypt(b"raw", b"here")
        assert key.decrypt(sealed, b"here") == b"raw"
        changes: list[Any] = [
            (sealed[:-1] + bytes([sealed[-1] ^ 1]), b"here"),
            (sealed, b"there"),
            (b"XXXX" + sealed[4:], b"here"),
        ]
        for value, where in changes:
            with pytest.raises(ValueError, match="capture"):
                key.decrypt(value, where)
