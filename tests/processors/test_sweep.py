"""Runs that fall silent are closed by the sweep, once, and the same way if it is repeated."""

from tachograph.processors.core import JOIN_TIMEOUT, process
from tachograph.processors.runs import Runs
from tachograph.processors.state import RunState
from tachograph.processors.sweep import SILENCE, sweep
from tests.processors.records import APPENDED, codes_of, landed, numbered
from tests.processors.test_join import START, leg, play, request
from tests.schemas import samples


def _runs(*states: RunState) -> Runs:
    runs = Runs()
    for number, state in enumerate(states):
        runs.put(b"run-%d" % number, state)
    return runs


def _silent() -> RunState:
    state = RunState()
    play(state, START, request(), leg("pre"))
    return state


LAST = APPENDED + 2_000_000


def test_nothing_happens_before_its_time() -> None:
    """Not a microsecond earlier."""
    assert sweep(_runs(_silent()), LAST + JOIN_TIMEOUT - 1) == []


def test_overdue_calls_of_a_silent_run_are_closed_once() -> None:
    """With the row and the violation that the end of the run would have brought."""
    runs = _runs(_silent())
    [swept] = sweep(runs, LAST + JOIN_TIMEOUT)
    assert codes_of(swept.outputs) == ["observability.missing_tool_result"]
    [(_, row)] = [item for item in landed(swept.outputs) if item[0] == "rows.tool_calls"]
    assert (row["closed_by"], row["missing"]) == ("silence", ["post", "result"])
    assert sweep(runs, LAST + JOIN_TIMEOUT + 1) == []


def test_a_run_that_never_ended_is_reported_once() -> None:
    """And has a row that says what is missing."""
    runs = _runs(_silent())
    sweep(runs, LAST + JOIN_TIMEOUT)
    [swept] = sweep(runs, LAST + SILENCE)
    assert codes_of(swept.outputs) == ["observability.run_never_ended"]
    *_, (schema, row) = landed(swept.outputs)
    assert (schema, row["event_type"], row["completeness"]) == ("rows.agent_runs", "run_silent", "incomplete")
    assert row["missing"] == ["the record of its end", "results of 1 tool calls"]
    assert sweep(runs, LAST + 2 * SILENCE) == []


def test_a_run_that_ended_is_left_alone() -> None:
    """However long ago."""
    state = _silent()
    process(state, numbered(samples.RUN_ENDED, 3, emitted=4, dropped=0))
    assert sweep(_runs(state), LAST + 10 * SILENCE) == []


def test_a_repeated_sweep_writes_the_same_messages() -> None:
    """Its outputs were stored, its states were not: the states are read again, and time has moved on."""
    saved = [_silent().to_bytes(), _silent().to_bytes()]

    def again(now: int) -> list[tuple[bytes, str, int, list[object]]]:
        runs = _runs(*map(RunState.from_bytes, saved))
        return [(item.key, item.stream, item.state.last_offset, [*item.outputs]) for item in sweep(runs, now)]

    first, second = again(LAST + JOIN_TIMEOUT), again(LAST + JOIN_TIMEOUT + 77_000_000)
    assert first == second
    assert len(first) == 2
    longer = again(LAST + SILENCE)
    assert longer[:2] == first
    assert len(longer) == 4


def test_runs_are_swept_in_the_order_of_their_last_records() -> None:
    """Coordinates on a stream only rise, or a sink would take them for repeats."""
    states = []
    for offset in (7, 9, 12):
        state = RunState()
        process(state, numbered(samples.RUN_STARTED, 0)._replace(offset=offset, append_time=APPENDED + offset))
        states.append(state)
    runs = Runs()
    for key in (2, 0, 1):
        runs.restore(b"%d" % key, states[key].to_bytes())
    runs.settle()
    assert [item.state.last_offset for item in sweep(runs, APPENDED + 12 + SILENCE)] == [7, 9, 12]
