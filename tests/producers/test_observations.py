"""Decisions and quality signals: codes, numbers, and no prose."""

from typing import Any

import pytest

from tachograph.producers.errors import RecordRefusedError
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.enums import DecisionType, SignalType
from tachograph.schemas.privacy import PrivacyError
from tests.producers.support import make_tracer, validated

DECISION: dict[str, Any] = {
    "decision_type": "tool_selection",
    "selected": "api",
    "reason_code": "fresh_data_required",
}


SIGNAL: dict[str, Any] = {"signal_type": "tool_success", "signal_code": "first_attempt", "value": True}


def test_strings_and_enums_are_the_same() -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher).start_run() as run, run.step("tool", "fetch") as step:
        run.record_decision(**DECISION, step_id=step.step_id)
        run.record_decision(**(DECISION | {"decision_type": DecisionType.TOOL_SELECTION}))
        run.record_quality_signal(signal_type="schema_valid", signal_code="full_match", value=True, weight=0.9)
        run.record_quality_signal(signal_type=SignalType.SCHEMA_VALID, signal_code="full_match", value=True, weight=0.9)
    unique = {"event_id", "seq", "occurred_at", "decision_id", "signal_id"}
    for kind in ("AgentDecision", "AgentQualitySignal"):
        first, second = ({k: v for k, v in item.items() if k not in unique} for item in publisher.of(kind))
        assert first == second
        assert first["step_id"] == step.step_id
    validated(publisher)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"decision_type": "nonsense"}, id="unknown type"),
        pytest.param({"reason_code": "transient_error"}, id="code of another type"),
        pytest.param({"reason_code": 7}, id="code that is no text"),
        pytest.param({"selected": ""}, id="nothing selected"),
        pytest.param({"confidence": 1.1}, id="confidence over one"),
        pytest.param({"confidence": float("nan")}, id="confidence that is no number"),
        pytest.param({"confidence": True}, id="confidence that is a boolean"),
        pytest.param({"candidates": "api"}, id="candidates as one text"),
    ],
)
def test_what_the_contract_refuses(changes: dict[str, Any]) -> None:
    """Raised under pytest; in production counted, and reported as dropped."""
    with make_tracer().start_run() as run, pytest.raises(RecordRefusedError):
        run.record_decision(**(DECISION | changes))
    publisher = InMemoryPublisher()
    with make_tracer(publisher, strict=False).start_run() as run:
        assert run.record_decision(**(DECISION | changes)) is None
    [dropped] = publisher.of("EventsDropped")
    assert (dropped["count"], dropped["reason"], dropped["record_types"]) == (1, "encode_failed", ["AgentDecision"])
    assert run.recorder.guard.counts == {"AgentDecision": 1}


def test_the_step_is_the_one_given_or_the_current_one() -> None:
    """Also one that has ended; outside of all steps there is none."""
    publisher = InMemoryPublisher()
    with make_tracer(publisher).start_run() as run:
        with run.step("plan", "first") as first:
            pass
        with run.step("validate", "second") as second:
            run.record_quality_signal(**SIGNAL, step_id=first.step_id, weight=0.5, metadata={"result_count": 3})
            run.record_quality_signal(**SIGNAL)
            run.record_decision(**DECISION, step_id=first.step_id)
        run.record_quality_signal(**SIGNAL)
    assert [item["step_id"] for item in publisher.of("AgentQualitySignal")] == [first.step_id, second.step_id, None]
    assert publisher.of("AgentQualitySignal")[0]["metadata"] == {"result_count": 3}
    assert publisher.of("AgentDecision")[0]["step_id"] == first.step_id
    assert [item["step_type"] for item in publisher.of("StepStarted")] == ["plan", "validate"]
    validated(publisher)


def test_a_signals_value_is_a_boolean() -> None:
    with make_tracer().start_run() as run, pytest.raises(RecordRefusedError, match="value: is true or false"):
        run.record_quality_signal(signal_type="tool_success", signal_code="first_attempt", value=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("metadata", "kept", "code", "key"),
    [
        pytest.param({"prompt": "x", "age": 1}, {"age": 1}, "blocked_key", "prompt", id="blocked key"),
        pytest.param({" Chain Of Thought": "x"}, {}, "blocked_key", "chain_of_thought", id="folded spelling"),
        pytest.param({"config": {"k": 1}}, {}, "not_primitive", "#0", id="nested object"),
        pytest.param({"a": 1, "long": "y" * 101}, {"a": 1, "long": "y" * 100}, "too_long", "#1", id="long text is cut"),
    ],
)
@pytest.mark.parametrize("kind", ["AgentDecision", "AgentQualitySignal"])
def test_privacy_refusals(  # noqa: PLR0917 - the cases are a table
    metadata: dict[str, Any], kept: dict[str, Any], code: str, key: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The record is kept without the entry; a signal names the block list's key, or a position, never a value."""
    publisher = InMemoryPublisher()
    with make_tracer(publisher, strict=False).start_run() as run:
        for _ in range(2):
            if kind == "AgentDecision":
                run.record_decision(**DECISION, metadata=metadata)
            else:
                run.record_quality_signal(**SIGNAL, metadata=metadata)
    told = [item for item in publisher.of("AgentQualitySignal") if item["signal_type"] == "privacy_rejected"]
    records = [item for item in publisher.of(kind) if item not in told]
    assert [item["metadata"] for item in records] == [kept, kept]
    assert [(item["signal_code"], item["metadata"]) for item in told] == [(code, {"key": key, "count": 1})] * 2
    assert len([line for line in caplog.messages if "metadata" in line]) == 1
    assert run.recorder.guard.counts == {"metadata": 2}
    validated(publisher)


def test_privacy_refusals_raise_in_strict_mode_only() -> None:
    with make_tracer(strict=True).start_run() as run:
        with pytest.raises(PrivacyError):
            run.record_decision(**DECISION, metadata={"prompt": "x"})
        with pytest.raises(PrivacyError):
            run.record_quality_signal(**SIGNAL, metadata={"prompt": "x"})
    with make_tracer().start_run() as run:
        assert run.record_decision(**DECISION, metadata={"prompt": "x"})


@pytest.mark.parametrize(("code", "value"), [("accepted", True), ("corrected", False), ("rejected", False)])
def test_feedback_names_the_decision_it_is_about(code: str, value: bool) -> None:
    """Said in a later run, of a record of an earlier one."""
    publisher = InMemoryPublisher()
    with make_tracer(publisher).start_run() as run:
        assert run.feedback("dr_1", code, metadata={"source": "chargeback"})
        run.record_quality_signal(signal_type="tool_success", signal_code="first_attempt", value=True)
    validated(publisher)
    said, plain = publisher.of("AgentQualitySignal")
    assert (said["record_id"], said["signal_type"], said["signal_code"]) == ("dr_1", "user_feedback", code)
    assert (said["value"], said["metadata"], plain["record_id"]) == (value, {"source": "chargeback"}, None)


def test_feedback_has_three_words() -> None:
    """Another is refused: it could not be counted."""
    with make_tracer().start_run() as run, pytest.raises(RecordRefusedError, match="accepted, corrected, rejected"):
        run.feedback("dr_1", "meh")
