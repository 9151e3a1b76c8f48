"""Whatever a producer writes, a run's state fits into one message, and nothing of the run is lost for that."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tachograph.processors.batch import MAX_ROW_BYTES
from tachograph.processors.bounds import MOST_ID
from tachograph.processors.core import Incoming
from tachograph.processors.digests import digest
from tachograph.processors.errors import IdTooLongError
from tachograph.processors.join import MOST_BYTES
from tachograph.processors.report import Output
from tachograph.processors.state import RunState
from tachograph.schemas.wire import to_avro
from tests.processors.records import APPENDED, CODEC, JUDGING, PartitionWorker, codes_of, numbered, raw_record
from tests.processors.test_join import calls_of, leg, request, result_in_event
from tests.schemas import samples

IDS = frozenset({"tenant_id", "agent_id", "event_id", "run_id", "trace_id"})
OWN = ("tool_use_id", "parent_tool_use_id", "span_id", "parent_span_id", "step_id", "tool_call_id")
"""Names of things within a run: each record gets its own, so that each takes room."""


def swollen(value: Any, seq: int, stuffing: str, key: str = "") -> Any:
    """The value with ``stuffing`` in all its texts, but for the ids that name the run and the record."""
    if isinstance(value, str):
        return value if key in IDS else f"{value}{seq if key in OWN else ''}{stuffing}"
    if isinstance(value, list):
        return [swollen(item, seq, stuffing) for item in value]
    if isinstance(value, dict):
        return {name: swollen(item, seq, stuffing, name) for name, item in value.items()}
    return value


record_types = st.sampled_from(samples.RECORDS)
stuffings = st.builds(
    lambda what, count: what * count, st.sampled_from("x\x00é"), st.sampled_from([0, 40, 700, 20_000])
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(record_types, stuffings, st.sampled_from(["pre", "post", "result"])), min_size=1, max_size=30)
)
def test_a_state_of_any_run_fits_into_a_message(records: list[tuple[Any, str, str]]) -> None:
    """Long texts, long names, many of them: the state stays below what the broker takes, and every leg has a row."""
    state, legs, written = RunState(), set(), set()
    for seq, (model, stuffing, which) in enumerate(records):
        changes = {"seq": seq, "event_id": f"e-{seq}"}
        if model is samples.TOOL_CALL_RECORD:
            legs.add(f"e-{seq}")
            changes["leg"] = which
        value = CODEC.encode(type(model).__name__, swollen(to_avro(model), seq // 4, stuffing) | changes)
        name, record = CODEC.decode(value)[:2]
        outputs = JUDGING(state, Incoming(name, record, 0, seq, APPENDED + seq, digest(value)))
        written |= {event_id for row in calls_of(outputs) for event_id in row["event_ids"]}
        assert len(state.to_bytes()) < MAX_ROW_BYTES
        assert state.open_bytes == sum(call.bytes for call in state.calls.values())
    restored = RunState.from_bytes(state.to_bytes())
    assert restored.open_bytes == state.open_bytes
    end = numbered(samples.RUN_ENDED, len(records), emitted=len(records) + 1, dropped=0)
    written |= {event_id for row in calls_of(JUDGING(restored, end)) for event_id in row["event_ids"]}
    assert written == legs


def test_many_large_hooks_and_names_stay_within_bounds() -> None:
    """What counts is what a part takes in the state: its hooks and metadata as well as its content."""
    state, flagged = RunState(), 0
    for seq in range(40):
        name, changes = leg("pre", f"tc-{seq}" + "n" * 5000, metadata={"note": "m" * 60_000})
        flagged += codes_of(JUDGING(state, numbered(name, seq, **changes))).count("observability.run_over_bound")
        assert len(state.to_bytes()) < 400_000
    assert flagged == 1


def test_a_leg_that_fills_a_message_is_a_row_of_its_own() -> None:
    """It is not joined, and it is not lost; what was there of its call is written before it."""
    state = RunState()
    huge: Any = {"metadata": {"note": "m" * 900_000}}
    record, changes = leg("pre")
    assert calls_of(JUDGING(state, numbered(record, 0, **changes))) == []
    record, changes = leg("post", **huge)
    outputs = JUDGING(state, numbered(record, 1, **changes))
    assert [(row["leg"], row["event_ids"]) for row in calls_of(outputs)] == [
        ("call", ["event-0"]),
        ("post", ["event-1"]),
    ]
    assert "observability.run_over_bound" in codes_of(outputs)
    record, changes = leg("pre", "tc_2", **huge)
    alone = JUDGING(state, numbered(record, 2, **changes))
    assert [(row["leg"], row["event_ids"]) for row in calls_of(alone)] == [("pre", ["event-2"])]
    assert (state.calls, state.open_bytes) == ({}, 0)


def test_content_that_an_event_tells_at_length_stays_in_the_event() -> None:
    """Its call is joined all the same, without it, and not closed early."""
    asked, listed = request(), result_in_event()
    long = "x" * (MOST_BYTES + 1)
    asked[1]["model_output"]["tool_calls"][0]["arguments"] = long
    listed[1]["agent_action"]["tool_results"][0]["output"] = long
    parts = [asked, listed, leg("pre", output=None), leg("post", output="ok"), leg("result")]
    state = RunState()
    outputs: list[Output] = []
    for seq, (record, changes) in enumerate(parts):
        outputs += JUDGING(state, numbered(record, seq, **changes))
        assert state.open_bytes < MOST_BYTES
    [row] = calls_of(outputs)
    assert (row["arguments"], row["output"], row["complete"], row["closed_by"]) == (None, "ok", True, "joined")
    assert "observability.run_over_bound" not in codes_of(outputs)


@pytest.mark.parametrize("name", sorted(IDS))
def test_an_id_that_is_too_long_makes_a_dead_letter(name: str) -> None:
    """A run is found by its ids, so they cannot be cut; the record is kept whole where an operator looks."""
    record = to_avro(samples.AGENT_DECISION) | {name: "i" * (MOST_ID + 1)}
    batch = PartitionWorker().run([raw_record(0, "AgentDecision", record)])
    assert dict(batch.dead_letters) == {IdTooLongError.__name__: 1}
    assert batch.changed == {}
    assert PartitionWorker().run([raw_record(0, "AgentDecision", record | {name: "i" * MOST_ID})]).dead_letters == {}


def test_a_kafka_key_of_any_length_names_a_run() -> None:
    """A record without run and trace is counted under its key; a long one by its digest."""
    record = to_avro(samples.AGENT_DECISION) | {"run_id": None, "trace_id": None}
    batch = PartitionWorker().run([raw_record(0, "AgentDecision", record, key=b"k" * 500_000)])
    [key] = batch.changed[0]
    assert len(key) < 100
