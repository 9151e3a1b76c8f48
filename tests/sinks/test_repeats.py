"""What a restarted worker writes again is left out, and nothing else is."""

from hypothesis import given
from hypothesis import strategies as st

from tachograph.schemas.headers import Header
from tachograph.sinks.clickhouse.repeats import Repeats
from tests.sinks.messages import source


@st.composite
def interleavings(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """A sequence, and two writers of it in any order: each keeps its own order."""
    places = sorted(draw(st.sets(st.tuples(st.integers(0, 2**40), st.integers(0, 300)), min_size=1, max_size=30)))
    turns = draw(st.permutations([0] * len(places) + [1] * len(places)))
    writers = [iter(places), iter(places)]
    return places, [next(writers[turn]) for turn in turns]


@given(interleavings())
def test_two_writers_of_one_sequence_land_it_once(case: tuple[list[tuple[int, int]], list[tuple[int, int]]]) -> None:
    """A zombie and its successor write the same outputs, interleaved in any way: each lands once, in order."""
    places, written = case
    repeats = Repeats({})
    assert [place for place in written if not repeats.seen(source(*place))] == places


@given(interleavings(), st.integers(0, 60))
def test_marks_survive_a_restart(case: tuple[list[tuple[int, int]], list[tuple[int, int]]], cut: int) -> None:
    """Stopping anywhere and going on from the marks is the same as never having stopped."""
    places, written = case
    first = Repeats({})
    landed = [place for place in written[:cut] if not first.seen(source(*place))]
    second = Repeats(first.marks)
    landed += [place for place in written[cut:] if not second.seen(source(*place))]
    assert landed == places


def test_streams_do_not_hide_each_other() -> None:
    """In the dead-letter topic many streams share a partition."""
    repeats = Repeats({"a": (5, 0), "b": (1, 0)})
    assert [repeats.seen(source(at, 0, stream)) for at, stream in [(5, "a"), (2, "b"), (6, "a"), (2, "b")]] == [
        True,
        False,
        False,
        True,
    ]
    assert list(repeats.marks.items()) == [("a", (6, 0)), ("b", (2, 0))]


def test_a_message_without_sound_coordinates_is_nobodys_repeat() -> None:
    """Foreign writers have none; they land as they come."""
    repeats = Repeats({})
    for headers in (None, [], [("other", b"x")], [(Header.SOURCE.value, b"short")]):
        assert not repeats.seen(headers)
        assert not repeats.seen(headers)
    assert repeats.marks == {}
