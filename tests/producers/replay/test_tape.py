"""What is served next: by content, and in an order that could have been."""

import pytest

from tachograph.producers.replay.divergence import Divergence, DivergenceKind
from tachograph.producers.replay.tape import Tape
from tachograph.schemas.enums import CaptureMode
from tachograph.schemas.recording import (
    RecordedDecision,
    RecordedModelCall,
    RecordedRun,
    RecordedToolCall,
    Recording,
    text_hash,
)

RUN = RecordedRun(
    run_id="r",
    trace_id="t",
    session_id="s",
    agent_id="a",
    agent_version="1",
    capture_mode=CaptureMode.FULL,
    request_hash=text_hash("q"),
    status="succeeded",
    started_at=0,
)


def tool(name: str, given: str, began: int, ended: int, output: int = 0) -> RecordedToolCall:
    return RecordedToolCall(
        run_id="r",
        tool_use_id=f"{name}-{began}",
        tool_name=name,
        began_at=began,
        ended_at=ended,
        capture_mode=CaptureMode.FULL,
        input_hash=text_hash(given),
        output=output,
    )


def model(prompt: str, began: int, ended: int) -> RecordedModelCall:
    return RecordedModelCall(
        run_id="r",
        event_id=f"e-{began}",
        began_at=began,
        ended_at=ended,
        provider="other",
        model="m",
        capture_mode=CaptureMode.FULL,
        prompt_bundle_hash=text_hash(prompt),
        captured_hash=text_hash("captured " + prompt),
    )


def tape(*calls: RecordedToolCall | RecordedModelCall, decisions: int = 0) -> Tape:
    return Tape(
        Recording(
            run_id="r",
            runs=(RUN,),
            model_calls=tuple(call for call in calls if isinstance(call, RecordedModelCall)),
            tool_calls=tuple(call for call in calls if isinstance(call, RecordedToolCall)),
            decisions=tuple(
                RecordedDecision(run_id="r", decided_at=number, decision_hash=text_hash("d"))
                for number in range(decisions)
            ),
        ),
        "r",
    )


def call(given: Tape, name: str, text: str) -> object:
    """Output of the call that is served, or the kind of difference."""
    found = given.tool_call(name, lambda _mode: text_hash(text), skipped=False)
    return found.kind if isinstance(found, Divergence) else found.output


def ask(given: Tape, prompt: str) -> object:
    found = given.model_call("m", text_hash(prompt), lambda _mode: text_hash("captured " + prompt))
    return found.kind if isinstance(found, Divergence) else found.event_id


def test_equal_calls_are_served_in_their_order() -> None:
    """The first that was made is the first that is given."""
    made = tape(tool("f", "x", 0, 1, 10), tool("f", "x", 2, 3, 20))
    assert [call(made, "f", "x"), call(made, "f", "x"), call(made, "f", "x")] == [
        10,
        20,
        DivergenceKind.UNEXPECTED_CALL,
    ]
    assert made.left() is None


@pytest.mark.parametrize(
    ("second", "kind"),
    [
        pytest.param((2, 3), DivergenceKind.ORDER_CHANGED, id="one after the other"),
        pytest.param((1, 3), 20, id="one while the other"),
    ],
)
def test_only_calls_that_overlapped_may_change_places(second: tuple[int, int], kind: object) -> None:
    """Concurrent code may go either way; code that waited for a result may not."""
    assert call(tape(tool("f", "x", 0, 1, 10), tool("g", "y", *second, 20)), "g", "y") == kind


def test_a_model_call_cannot_overtake_the_tool_it_waited_for() -> None:
    """Order holds between the kinds of calls, too."""
    made = tape(tool("f", "x", 0, 1), model("then", 5, 6))
    assert ask(made, "then") is DivergenceKind.ORDER_CHANGED
    assert call(made, "f", "x") == 0
    assert ask(made, "then") == "e-5"
    assert ask(made, "then") is DivergenceKind.UNEXPECTED_CALL


def test_what_is_left_is_told_from_the_earliest_on() -> None:
    """The first call that did not come, by when it was made."""
    made = tape(tool("f", "x", 5, 6), model("p", 3, 4), decisions=1)
    assert made.left() is not None
    assert made.decision(text_hash("d")) is None
    left = made.left()
    assert left is not None
    assert (left.kind, left.call, left.place) == (DivergenceKind.MISSING_CALL, "model m", 1)


def test_a_decision_too_many_is_unexpected() -> None:
    """Decisions are counted as calls are."""
    found = tape().decision(text_hash("d"))
    assert found is not None
    assert found.kind is DivergenceKind.UNEXPECTED_CALL
