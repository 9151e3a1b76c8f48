"""A run as nested bars, whatever the agent says about who belongs to whom."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.console.web import charts
from tachograph.console.web.waterfall import MARKS, waterfall

START = datetime(2026, 5, 9, 12, tzinfo=UTC)


def at(milliseconds: int) -> datetime:
    return START + timedelta(milliseconds=milliseconds)


def step(step_id: str, parent: str | None = None, start: int = 0, took: int = 100) -> dict[str, Any]:
    return {
        "step_id": step_id,
        "parent_step_id": parent,
        "name": step_id,
        "step_type": "plan",
        "status": "succeeded",
        "first_seen_at": at(start),
        "last_seen_at": at(start + took),
        "duration_ms": took,
    }


def event(event_id: str, step_id: str | None, end: int, took: int, model: str = "m") -> dict[str, Any]:
    return {
        "event_id": event_id,
        "step_id": step_id,
        "model": model,
        "action_type": "plan",
        "occurred_at": at(end),
        "latency_ms": took,
    }


def tool(tool_id: str, step_id: str | None = None, parent: str | None = None, start: int = 0) -> dict[str, Any]:
    return {
        "tool_use_id": tool_id,
        "tool_name": tool_id,
        "step_id": step_id,
        "parent_tool_use_id": parent,
        "leg": "call",
        "phase": "execution",
        "started_at": at(start),
        "requested_at": None,
        "finished_at": at(start + 10),
        "occurred_at": at(start),
        "duration_ms": 10,
        "error_type": None,
        "result_is_error": False,
        "skipped": False,
        "complete": True,
    }


def test_calls_are_nested_where_they_were_made() -> None:
    """A model call in its step, a tool call in its step, a call of a tool under that tool; in order of time."""
    drawn = waterfall(
        [step("plan"), step("inner", "plan", 60, 30)],
        [event("e", "plan", 50, 40)],
        [tool("outer", "inner", start=60), tool("nested", "inner", "outer", 62)],
    )
    assert [(bar.name, bar.depth) for bar in drawn.bars] == [
        ("plan", 0),
        ("m", 1),
        ("inner", 1),
        ("outer", 2),
        ("nested", 3),
    ]
    assert drawn.place(drawn.bars[1]) == (0.1, 0.4)


def test_an_unknown_parent_leaves_a_call_at_the_top() -> None:
    """Nothing is hidden because somebody forgot a record."""
    drawn = waterfall([], [], [tool("lost", "no such step", "no such call")])
    assert [(bar.name, bar.depth) for bar in drawn.bars] == [("lost", 0)]


ids = st.sampled_from(["a", "b", "c", "d"])


@given(
    st.lists(st.tuples(ids, st.none() | ids), max_size=8), st.lists(st.tuples(ids, ids, st.none() | ids), max_size=8)
)
def test_every_bar_is_drawn_once_even_in_circles(steps: list[Any], tools: list[Any]) -> None:
    """Parents that are themselves, each other, or named twice neither hang the page nor hide a bar."""
    drawn = waterfall([step(*each) for each in steps], [], [tool(*each) for each in tools])
    assert len(drawn.bars) == len(steps) + len(tools)
    assert len({id(bar) for bar in drawn.bars}) == len(drawn.bars)


def test_bars_stay_inside_and_can_be_seen() -> None:
    """A call of no length at the very end still has a mark."""
    drawn = waterfall([step("s", took=1000)], [event("e", "s", 1000, 0)], [])
    svg = charts.bar(drawn, drawn.bars[1])
    assert 'x="99.70%"' in svg
    assert 'width="0.30%"' in svg


def test_what_has_no_length_is_a_dot() -> None:
    """An edit that is on record happened at a moment; a model call that took no time is still a call."""
    drawn = waterfall([step("s", took=1000)], [event("edit", "s", 500, 0, model=""), event("call", "s", 600, 0)], [])
    assert [bar.is_moment for bar in drawn.bars] == [False, True, False]
    assert 'cx="50.00%"' in charts.bar(drawn, drawn.bars[1])
    assert drawn.offset_ms(drawn.bars[1]) == 500


@pytest.mark.parametrize(
    ("took", "labels"),
    [
        pytest.param(4, ["0", "1 ms", "2 ms", "3 ms", "4 ms"], id="milliseconds"),
        pytest.param(11_100, ["0", "2 s", "4 s", "6 s", "8 s", "10 s"], id="seconds"),
        pytest.param(61_000, ["0", "15 s", "30 s", "45 s", "1 min"], id="a minute"),
        pytest.param(3 * 3_600_000, ["0", "1 h", "2 h", "3 h"], id="hours"),
    ],
)
def test_the_axis_counts_as_people_do(took: int, labels: list[str]) -> None:
    """In round steps, from the beginning; as many lines as labels."""
    drawn = waterfall([step("s", took=took)], [], [])
    assert re.findall(r">([^<>]+)</text>", charts.axis(drawn)) == labels
    assert charts.rules(drawn).count("<line") == len(labels)


@given(st.integers(min_value=1, max_value=10**12))
def test_the_axis_fits_any_run(took: int) -> None:
    """From a millisecond to decades: at least one step, never too many, all inside."""
    shares = [share for share, _ in waterfall([step("s", took=took)], [], []).marks]
    assert 1 <= len(shares) <= MARKS
    assert shares == sorted(shares)
    assert 0 == shares[0] <= shares[-1] <= 1


def test_a_run_of_one_moment_has_no_axis() -> None:
    """Nor one of nothing."""
    assert waterfall([step("s", took=0) | {"duration_ms": None}], [], []).marks == []
    assert waterfall([], [], []).marks == []
