"""Runs are forgotten when their time is over, by the broker's clock, and restored whatever the changelog's order."""

from tachograph.processors.runs import ENDED_GRACE, SILENT_GRACE, Runs
from tachograph.processors.state import RunState


def _state(offset: int, at: int, *, ended: bool = False) -> RunState:
    state = RunState()
    state.last_offset, state.last_append_time, state.ended = offset, at, ended
    return state


def test_a_finished_run_is_forgotten_after_its_grace() -> None:
    """Not a microsecond earlier."""
    runs = Runs()
    runs.put(b"a", _state(1, 100, ended=True))
    assert [*runs.forgettable(100 + ENDED_GRACE - 1)] == []
    assert [*runs.forgettable(100 + ENDED_GRACE)] == [b"a"]


def test_a_silent_run_is_forgotten_when_its_records_are_gone() -> None:
    """An open run is kept as long as the topic keeps its records, and a touch keeps it longer."""
    runs = Runs()
    runs.put(b"silent", _state(1, 100))
    runs.put(b"busy", _state(2, 100))
    runs.put(b"busy", _state(3, 5000))
    assert [*runs.forgettable(100 + ENDED_GRACE)] == []
    assert [*runs.forgettable(100 + SILENT_GRACE)] == [b"silent"]


def test_an_old_open_run_does_not_keep_finished_ones() -> None:
    """They wait in different lines."""
    runs = Runs()
    runs.put(b"open", _state(1, 0))
    runs.put(b"done", _state(2, 10, ended=True))
    assert [*runs.forgettable(10 + ENDED_GRACE)] == [b"done"]


def test_of_two_restored_states_the_further_one_wins() -> None:
    """A worker that lost its partition may have written an older state last."""
    runs = Runs()
    runs.restore(b"a", _state(200, 2).to_bytes())
    runs.restore(b"a", _state(100, 1).to_bytes())
    assert runs.get(b"a") == _state(200, 2)


def test_a_deleted_run_stays_deleted_unless_written_again() -> None:
    """Tombstones of the changelog."""
    runs = Runs()
    runs.restore(b"a", _state(1, 1).to_bytes())
    runs.restore(b"a", None)
    runs.restore(b"never", None)
    assert len(runs) == 0
    runs.restore(b"a", _state(5, 1).to_bytes())
    assert runs.get(b"a") == _state(5, 1)


def test_restored_runs_are_brought_into_order() -> None:
    """A compacted changelog is not in the order of last records."""
    runs = Runs()
    for key, at in ((b"c", 30), (b"a", 10), (b"b", 20)):
        runs.restore(key, _state(1, at, ended=True).to_bytes())
    runs.settle()
    assert [*runs.forgettable(20 + ENDED_GRACE)] == [b"a", b"b"]
