"""Requests, legs and results become one row per call, whatever order they come in."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.processors.core import JOIN_TIMEOUT, process
from tachograph.processors.join import MOST_CALLS
from tachograph.processors.report import Output
from tachograph.processors.state import RunState
from tachograph.schemas.wire import to_avro
from tests.processors.records import codes_of, landed, numbered
from tests.schemas import samples

LEG = to_avro(samples.TOOL_CALL_RECORD)
EVENT = to_avro(samples.DECISION_EVENT)


def request(call_id: str = "tc_1", **changes: Any) -> tuple[Any, dict[str, Any]]:
    output = EVENT["model_output"] | {
        "tool_calls": [{**EVENT["model_output"]["tool_calls"][0], "tool_call_id": call_id}]
    }
    action = EVENT["agent_action"] | {"tool_results": []}
    return samples.DECISION_EVENT, {"model_output": output, "agent_action": action, "parent_span_id": None} | changes


def result_in_event(call_id: str = "tc_1") -> tuple[Any, dict[str, Any]]:
    results = [{**EVENT["agent_action"]["tool_results"][0], "tool_call_id": call_id}]
    action = EVENT["agent_action"] | {"tool_results": results}
    output = EVENT["model_output"] | {"tool_calls": []}
    return samples.DECISION_EVENT, {"model_output": output, "agent_action": action, "parent_span_id": None}


def leg(name: str, call_id: str = "tc_1", **changes: Any) -> tuple[Any, dict[str, Any]]:
    contents: dict[str, dict[str, Any]] = {
        "pre": {"tool_input": '{"path":"a"}', "output": None, "output_pointer": None, "duration_ms": None},
        "post": {"tool_input": None, "output": "ok", "output_pointer": None, "duration_ms": 12},
        "result": {"tool_input": None, "output": None, "output_pointer": None, "duration_ms": 12, "hooks": []},
    }
    at = {"pre": 10_000, "post": 22_000, "result": 23_000}[name]
    hooks = [hook for hook in LEG["hooks"] if hook["stage"] == name]
    identity = {"leg": name, "tool_use_id": call_id, "parent_tool_use_id": None, "hooks": hooks}
    return samples.TOOL_CALL_RECORD, identity | {"occurred_at": LEG["occurred_at"] + at} | contents[name] | changes


START: tuple[Any, dict[str, Any]] = (samples.RUN_STARTED, {})


def play(state: RunState, *parts: tuple[Any, dict[str, Any]], first: int = 0) -> list[Output]:
    outputs: list[Output] = []
    for seq, (record, changes) in enumerate(parts, first):
        outputs += process(state, numbered(record, seq, **changes))
    return outputs


def end(state: RunState, emitted: int) -> list[Output]:
    return process(state, numbered(samples.RUN_ENDED, emitted - 1, emitted=emitted, dropped=0))


def calls_of(outputs: list[Output]) -> list[dict[str, Any]]:
    return [row for schema, row in landed(outputs) if schema == "rows.tool_calls"]


def failed_in_event() -> tuple[Any, dict[str, Any]]:
    record, changes = result_in_event()
    action = changes["agent_action"]
    return record, changes | {
        "agent_action": action | {"tool_results": [action["tool_results"][0] | {"is_error": True}]}
    }


@pytest.mark.parametrize(
    ("parts", "is_error"),
    [
        pytest.param([leg("post", error_type=None), result_in_event()], False, id="neither side says so"),
        pytest.param([leg("post", error_type="OSError"), result_in_event()], True, id="the tool raised"),
        pytest.param([leg("post", error_type=None), failed_in_event()], True, id="the agent was told so"),
    ],
)
def test_a_failed_call_says_so_whoever_told_it(parts: list[Any], is_error: bool) -> None:
    """In the one row of the call."""
    state = RunState()
    play(state, START, request(), leg("pre", error_type=None), *parts)
    [row] = calls_of(end(state, 6))
    assert row["result_is_error"] is is_error


@pytest.mark.parametrize("order", [*itertools.permutations(["request", "pre", "post", "result"])])
def test_any_order_gives_the_same_row(order: tuple[str, ...]) -> None:
    """One row, whole, with both sides, as soon as the last part is there; and nothing to report."""
    parts = {"request": request(event_id="asked")} | {
        name: leg(name, event_id=f"leg-{name}") for name in ("pre", "post", "result")
    }
    outputs: list[Output] = []
    state = RunState()
    play(state, START)
    for offset, name in enumerate(order, 1):
        assert calls_of(outputs) == []
        record, changes = parts[name]
        outputs += process(state, numbered(record, offset, **changes))
    [row] = calls_of(outputs)
    assert codes_of(outputs + end(state, 6)) == []
    assert state.calls == {}
    assert state.open_bytes == 0
    expected = {
        "leg": "call",
        "event_id": "leg-result",
        "event_ids": ["leg-pre", "leg-post", "leg-result"],
        "requested": True,
        "requested_event_id": "asked",
        "arguments": '{"path":"src/parser.py"}',
        "tool_input": '{"path":"a"}',
        "output": "ok",
        "duration_ms": 12,
        "started_at": LEG["occurred_at"] + 10_000,
        "finished_at": LEG["occurred_at"] + 22_000,
        "handed_at": LEG["occurred_at"] + 23_000,
        "latency_ms": 23,
        "hook_action": "abort",
        "complete": True,
        "missing": [],
        "closed_by": "joined",
    }
    assert {name: row[name] for name in expected} == expected
    assert [hook["stage"] for hook in row["hooks"]] == ["pre", "post"]


@pytest.mark.parametrize(
    ("parts", "missing", "codes"),
    [
        pytest.param([request()], ["pre", "post", "result"], ["missing_tool_result"], id="asked for, never run"),
        pytest.param([request(), leg("pre")], ["post", "result"], ["missing_tool_result"], id="begun, never finished"),
        pytest.param(
            [request(), leg("pre"), leg("post")], ["result"], ["missing_tool_result"], id="finished, never handed over"
        ),
        pytest.param([leg("pre"), leg("post"), leg("result")], [], [], id="the agent's own call"),
        pytest.param([leg("result")], ["pre", "post"], ["unrequested_result"], id="a result that nobody asked for"),
        pytest.param([result_in_event()], ["pre", "post"], ["unrequested_result"], id="listed, never asked for"),
        pytest.param(
            [request(), result_in_event()], ["pre", "post"], ["hooks_did_not_run"], id="called outside the boundary"
        ),
        pytest.param(
            [request(), leg("pre"), leg("post"), result_in_event()], [], [], id="handed over in the next event"
        ),
    ],
)
def test_what_is_missing_at_the_end_of_the_run(
    parts: list[tuple[Any, dict[str, Any]]], missing: list[str], codes: list[str]
) -> None:
    """The row says which legs, the violation says what that means, and the run says how many."""
    state = RunState()
    outputs = play(state, START, *parts) + end(state, len(parts) + 2)
    [row] = calls_of(outputs)
    assert (row["missing"], row["complete"], row["closed_by"]) == (missing, not missing, "run_ended")
    assert codes_of(outputs) == [f"observability.{code}" for code in codes]
    run = outputs[-1].row
    assert (run["tool_calls"], run["tool_calls_joined"]) == (1, int(not missing))
    assert run["completeness"] == ("incomplete" if codes == ["missing_tool_result"] else "complete")


def test_a_call_is_closed_when_its_time_is_over_and_what_comes_late_is_kept() -> None:
    """By the time of later records of the run; the late leg is a row of its own, and reported."""
    state = RunState()
    play(state, START, request(), leg("pre"))
    later = numbered(samples.AGENT_DECISION, 3)
    closed = process(state, later._replace(append_time=later.append_time + JOIN_TIMEOUT))
    assert [row["closed_by"] for row in calls_of(closed)] == ["timeout"]
    assert codes_of(closed) == ["observability.missing_tool_result"]
    late = play(state, leg("post"), first=4)
    assert [(row["leg"], row["event_ids"], row["output"]) for row in calls_of(late)] == [("post", ["event-4"], "ok")]
    assert codes_of(late) == ["observability.late_leg"]


def test_a_leg_that_comes_twice_is_kept_and_reported() -> None:
    """With another event id: it is not a repeat."""
    state = RunState()
    outputs = play(state, START, leg("pre"), leg("pre", tool_input='{"path":"b"}'))
    assert [(row["leg"], row["tool_input"]) for row in calls_of(outputs)] == [("pre", '{"path":"b"}')]
    assert codes_of(outputs) == ["observability.duplicate_leg"]


def test_callers_are_written_out() -> None:
    """Three deep, outermost first."""
    state = RunState()
    outputs = play(
        state,
        START,
        leg("pre", "a"),
        leg("pre", "b", parent_tool_use_id="a"),
        leg("pre", "c", parent_tool_use_id="b"),
        *(
            leg(name, call, parent_tool_use_id=parent)
            for call, parent in (("c", "b"), ("b", "a"))
            for name in ("post", "result")
        ),
        leg("post", "a"),
        leg("result", "a"),
    )
    outputs += end(state, 11)
    assert {row["tool_use_id"]: row["attribution"] for row in calls_of(outputs)} == {
        "a": [],
        "b": ["a"],
        "c": ["a", "b"],
    }
    assert codes_of(outputs) == []


def test_callers_that_form_a_circle_do_no_harm_and_are_reported() -> None:
    """A producer may write anything."""
    state = RunState()
    told = play(state, START, leg("pre", "a", parent_tool_use_id="b"), leg("pre", "b", parent_tool_use_id="a"))
    assert codes_of(told) == ["observability.parent_circle"]
    assert sorted(len(row["attribution"]) for row in calls_of(end(state, 4))) == [2, 2]


def test_a_run_with_too_many_open_calls_loses_none_and_is_flagged_once() -> None:
    """The oldest are closed early; every call has its row."""
    state = RunState()
    outputs = play(state, START, *(leg("pre", f"tc-{number}") for number in range(MOST_CALLS + 20)))
    assert len(state.calls) == MOST_CALLS
    outputs += end(state, MOST_CALLS + 22)
    assert len({row["tool_use_id"] for row in calls_of(outputs)}) == MOST_CALLS + 20
    assert codes_of(outputs).count("observability.run_over_bound") == 1


def test_a_run_with_too_much_content_in_open_calls_stays_within_a_message() -> None:
    """A state is one message of the changelog."""
    state = RunState()
    outputs = play(state, START, *(leg("pre", f"tc-{number}", tool_input="x" * 60_000) for number in range(30)))
    assert len(state.to_bytes()) < 400_000
    assert codes_of(outputs).count("observability.run_over_bound") == 1
    assert RunState.from_bytes(state.to_bytes()).open_bytes == state.open_bytes


@given(st.permutations([f"{call}-{part}" for call in "abc" for part in ("request", "pre", "post", "result")]))
def test_calls_joined_together_are_the_calls_joined_alone(order: list[str]) -> None:
    """Three calls interleaved in any way: the same three rows, but for the time the broker stamped."""
    state, outputs = RunState(), []
    for seq, name in enumerate(order):
        call, part = name.split("-")
        record, changes = request(call) if part == "request" else leg(part, call)
        outputs += process(state, numbered(record, seq, **changes, event_id=name))
    rows = {row["tool_use_id"]: row for row in calls_of(outputs)}
    assert len(calls_of(outputs)) == len(rows) == 3
    for call, row in rows.items():
        assert row["event_ids"] == [f"{call}-pre", f"{call}-post", f"{call}-result"]
        assert (row["requested_event_id"], row["complete"], row["latency_ms"]) == (f"{call}-request", True, 23)
