"""What is encoded by hand equals what the codec's library writes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.producers import ToolUseContext
from tachograph.producers.attribution import ExecutionContext
from tachograph.producers.avro_bytes import ENVELOPE, avro_long, envelope_writer
from tachograph.producers.encoding import RecordEncoder
from tachograph.producers.tools.conduct import Outcome
from tachograph.producers.tools.leg_bytes import CallIdentity, leg_tail
from tachograph.schemas.enums import HookAction, HookStage, ToolLeg
from tachograph.schemas.errors import EncodeError
from tachograph.schemas.topics import RECORD_TYPES
from tachograph.schemas.wire import Codec, load_catalogue

TEXT = st.text(max_size=20)
MAYBE = st.none() | TEXT
COUNT = st.integers(0, 2**53)
POINTER = st.none() | st.fixed_dictionaries(
    {"artifact_id": TEXT, "path": TEXT, "hash": TEXT, "size_bytes": COUNT, "created_at": COUNT}
)
OUTCOME = st.builds(
    Outcome,
    TEXT,
    st.sampled_from(HookStage),
    st.sampled_from(HookAction),
    TEXT,
    st.booleans(),
    MAYBE,
)
METADATA = st.dictionaries(
    TEXT, TEXT | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False), max_size=4
)


@given(
    context=st.builds(ToolUseContext, TEXT, st.just({}), TEXT, MAYBE, MAYBE, MAYBE),
    depth=COUNT,
    name=TEXT,
    span=TEXT,
    step=MAYBE,
    leg=st.sampled_from(ToolLeg),
    fields=st.fixed_dictionaries(
        {
            "tool_input": MAYBE,
            "input_pointer": POINTER,
            "output": MAYBE,
            "output_pointer": POINTER,
            "duration_ms": st.none() | COUNT,
            "error_type": MAYBE,
            "error": MAYBE,
            "skipped": st.booleans(),
            "metadata": METADATA,
        }
    ),
    outcomes=st.lists(OUTCOME, max_size=3),
    seq=COUNT,
    at=st.integers(-(2**40), 2**55),
)
def test_tool_call_records(  # noqa: PLR0917 - the fields of the record
    context: ToolUseContext,
    depth: int,
    name: str,
    span: str,
    step: str | None,
    leg: ToolLeg,
    fields: dict[str, Any],
    outcomes: list[Outcome],
    seq: int,
    at: int,
) -> None:
    identity = CallIdentity(
        context,
        ExecutionContext(depth=depth),
        tool_name=name,
        span_id=span,
        step_id=step,
        capture_mode="full",
    )
    encoder = RecordEncoder()
    prefix, _ = encoder.framing("ToolCallRecord")
    head = envelope_writer("tenant", "agent", "trace", "run")(prefix, "event", seq, at)
    record = fields | {
        "tenant_id": "tenant",
        "agent_id": "agent",
        "event_id": "event",
        "trace_id": "trace",
        "run_id": "run",
        "seq": seq,
        "occurred_at": at,
        "tool_use_id": context.tool_use_id,
        "tool_name": name,
        "leg": leg.value,
        "span_id": span,
        "step_id": step,
        "task_id": context.task_id,
        "parent_tool_use_id": context.parent_tool_use_id,
        "phase": context.phase,
        "depth": depth,
        "capture_mode": "full",
        "hooks": [
            outcome._asdict() | {"stage": outcome.stage.value, "action": outcome.action.value} for outcome in outcomes
        ],
    }
    assert head + leg_tail(identity, leg, outcomes=outcomes, **fields) == Codec().encode("ToolCallRecord", record)


def test_the_hand_written_bytes_are_of_the_newest_schema() -> None:
    """A second version of ToolCallRecord needs a second version of leg_bytes."""
    assert load_catalogue().latest("ToolCallRecord").version == 1


@pytest.mark.parametrize("name", RECORD_TYPES)
def test_every_record_type_starts_with_the_envelope(name: str) -> None:
    fields = [field["name"] for field in load_catalogue().latest(name).plain["fields"]]
    assert tuple(fields[: len(ENVELOPE)]) == ENVELOPE
    RecordEncoder().framing(name)


def test_what_does_not_fit_is_told_without_the_value() -> None:
    with pytest.raises(EncodeError) as caught:
        RecordEncoder().tail("StepEnded", {"step_id": "secret-value"})
    assert "secret-value" not in str(caught.value)


@pytest.mark.parametrize("number", [0, -1, 63, 64, -65, 2**31, 2**63 - 1, -(2**63)])
def test_longs(number: int) -> None:
    read, shift = 0, 0
    for byte in avro_long(number):
        read |= (byte & 127) << shift
        shift += 7
    assert (read >> 1) ^ -(read & 1) == number
