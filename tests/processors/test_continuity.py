"""Records are processed in order and without holes, whatever the queues in between do."""

from hypothesis import given
from hypothesis import strategies as st

from tachograph.processors.continuity import Continuity, Verdict

PROCESS, DROP, REREAD = Verdict.PROCESS, Verdict.DROP, Verdict.REREAD


def _following(committed: int | None) -> Continuity:
    continuity = Continuity(lambda _partition: committed)
    continuity.follow(0, "epoch")
    return continuity


def _verdicts(continuity: Continuity, *offsets: int) -> list[Verdict]:
    return [continuity.admit(0, offset) for offset in offsets]


def test_a_row_of_offsets_is_processed() -> None:
    """From the committed one on, or from any if nothing was committed."""
    assert _verdicts(_following(5), 5, 6, 7) == [PROCESS] * 3
    assert _verdicts(_following(None), 9, 10) == [PROCESS] * 2


def test_what_was_processed_is_dropped() -> None:
    """A seek gives some records twice."""
    assert _verdicts(_following(5), 5, 6, 5, 6, 7) == [PROCESS, PROCESS, DROP, DROP, PROCESS]


def test_after_a_hole_the_partition_is_read_again() -> None:
    """The records that came early are dropped; read again, they come in order."""
    continuity = _following(5)
    assert _verdicts(continuity, 5, 8, 9) == [PROCESS, REREAD, DROP]
    assert continuity.expected(0) == 6
    assert _verdicts(continuity, 6, 7, 8, 9) == [PROCESS] * 4


def test_a_hole_that_is_still_there_is_on_the_broker() -> None:
    """Markers of transactions take offsets, and old records expire."""
    assert _verdicts(_following(5), 7, 7, 8) == [REREAD, PROCESS, PROCESS]


def test_a_smaller_hole_is_read_again_too() -> None:
    """What was left in the queue may not be the first record after the hole."""
    assert _verdicts(_following(5), 20, 7, 7, 8) == [REREAD, REREAD, PROCESS, PROCESS]


def test_a_new_epoch_starts_from_what_is_committed() -> None:
    """The runs were read anew, so what was processed but not saved is processed again."""
    continuity = _following(5)
    assert _verdicts(continuity, 5, 6) == [PROCESS] * 2
    continuity.follow(0, "epoch")
    assert _verdicts(continuity, 5) == [DROP]
    continuity.follow(0, "another")
    assert _verdicts(continuity, 5) == [PROCESS]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), max_size=20))
def test_nothing_is_skipped_or_turned_around(cleared: list[tuple[int, int]]) -> None:
    """Whatever parts get lost on the way, every record is processed once and in order.

    But for one that is lost twice running at the same place: that is what a hole on the broker looks like.
    """
    log, position, processed, losses = [*range(30)], 0, [], [*cleared]
    continuity, again = _following(0), False
    while position < len(log):
        read = log[position:]
        start, length = losses.pop() if losses and not again else (0, 0)
        survived = read[:start] + read[start + length :]
        position, again = len(log), False
        for offset in survived:
            verdict = continuity.admit(0, offset)
            if verdict is PROCESS:
                processed.append(offset)
            elif verdict is REREAD:
                position, again = continuity.expected(0) or 0, True
                break
        else:
            # The tail was lost: the broker still has it, and the next record that arrives shows the hole.
            position = continuity.expected(0) or 0
    assert processed == log
