"""The core counts a run, closes it, and repeats itself exactly."""

from typing import Any

import pytest

from tachograph.processors.core import process
from tachograph.processors.report import Output
from tachograph.processors.state import RunState
from tests.processors.records import APPENDED, incoming, numbered
from tests.schemas import samples


def _end(state: RunState, offset: int, **changes: Any) -> dict[str, Any]:
    *_, output = process(state, numbered(samples.RUN_ENDED, offset, **changes))
    assert output.schema == "rows.agent_runs"
    return output.row


def _started(count: int) -> RunState:
    state = RunState()
    process(state, numbered(samples.RUN_STARTED, 0))
    for offset in range(1, count):
        process(state, numbered(samples.AGENT_DECISION, offset))
    return state


def test_a_run_that_arrived_whole_is_complete() -> None:
    """Received equals emitted, nothing was dropped; the facts of the start are repeated."""
    row = _end(_started(4), 4, emitted=5, dropped=0)
    assert (row["completeness"], row["missing"], row["received"]) == ("complete", [], 5)
    facts = ("session_id", "agent_version", "environment", "capture_mode", "request_id", "channel", "repo", "sdk")
    [start] = process(RunState(), incoming(samples.RUN_STARTED))
    assert {name: row[name] for name in facts} == {name: start.row[name] for name in facts}
    assert row["started_at"] == start.row["occurred_at"]
    assert row["received_at"] == APPENDED + 4_000_000


@pytest.mark.parametrize(
    ("changes", "dropped_record", "missing"),
    [
        pytest.param({"emitted": 9, "dropped": 0}, False, ["4 of 9 records"], id="records are missing"),
        pytest.param({"emitted": 5, "dropped": 2}, False, ["2 records that the recorder dropped"], id="dropped"),
        pytest.param(
            {"emitted": 6, "dropped": 0}, True, ["3 records that the recorder dropped"], id="only a record said so"
        ),
        pytest.param(
            {"emitted": 3, "dropped": 0},
            False,
            ["an explanation: 5 records arrived, 3 were emitted"],
            id="more than were emitted",
        ),
    ],
)
def test_what_is_missing_is_said_in_words(changes: dict[str, Any], *, dropped_record: bool, missing: list[str]) -> None:
    """Incomplete, and why."""
    state = _started(4)
    if dropped_record:
        process(state, numbered(samples.EVENTS_DROPPED, 4))
    row = _end(state, 5 if dropped_record else 4, **changes)
    assert (row["completeness"], row["missing"]) == ("incomplete", missing)


def test_a_repeat_gives_nothing_and_changes_nothing() -> None:
    """Records at or below the last offset were applied before."""
    state = _started(3)
    before = state.to_bytes()
    for offset in range(3):
        assert process(state, numbered(samples.AGENT_DECISION, offset)) == []
    assert state.to_bytes() == before


def test_a_record_that_makes_it_raise_leaves_the_state_alone() -> None:
    """The record can be dead-lettered and the run goes on."""
    state = _started(3)
    before = state.to_bytes()
    broken = incoming(samples.RUN_ENDED, 3)._replace(record={"trace_id": "t"})
    with pytest.raises(KeyError):
        process(state, broken)
    assert state.to_bytes() == before


def test_outputs_go_to_the_topic_of_their_table_under_the_trace() -> None:
    """Topic, key and schema of a row."""
    [output] = process(RunState(), incoming(samples.AGENT_DECISION))
    assert isinstance(output, Output)
    assert (output.topic, output.key, output.schema) == (
        "tachograph.rows.agent_decisions.v1",
        samples.AGENT_DECISION.trace_id,
        "rows.agent_decisions",
    )
