"""Which places of a run arrived, in any order, in little room."""

from hypothesis import given
from hypothesis import strategies as st

from tachograph.processors.seqs import MOST_RANGES, Seqs


@given(st.lists(st.integers(0, 60)))
def test_it_agrees_with_a_set(places: list[int]) -> None:
    """New or not, how many are missing, and in one range where there is no gap."""
    seqs, arrived = Seqs(), set[int]()
    for place in places:
        assert seqs.add(place) == (place not in arrived)
        arrived.add(place)
    for emitted in (0, 1, 30, 61):
        assert seqs.missing(emitted) == emitted - len([place for place in arrived if place < emitted])
    assert seqs.ranges == sorted(set(seqs.ranges))


def test_gaps_are_named() -> None:
    """Single places, ranges, the beginning, the end, and not too many."""
    seqs = Seqs()
    for place in (1, 2, 4, 8, 9):
        seqs.add(place)
    assert seqs.gaps(12) == "0, 3, 5 to 7, 10 to 11"
    for place in range(20, 60, 2):
        seqs.add(place)
    assert seqs.gaps(60) == "0, 3, 5 to 7, 10 to 19, 21 and 19 more gaps"


def test_a_run_of_nothing_but_gaps_stays_small_and_is_still_counted() -> None:
    """Every second place is missing, ten times over what is remembered."""
    seqs = Seqs()
    total = 20 * MOST_RANGES
    for place in range(0, total, 2):
        seqs.add(place)
    assert len(seqs.ranges) <= 2 * MOST_RANGES
    assert seqs.missing(total) == total // 2
