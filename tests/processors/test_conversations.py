"""What is remembered of conversations is bounded, and the most recent ones are what is remembered."""

from typing import Any

from tachograph.processors.conversations import Conversations, continues

MOST = 16


def bundle(number: int, *answers: str) -> dict[str, Any]:
    """A prompt of the conversation with this number, after these answers."""
    said = [{"role": "assistant", "content": answer} for answer in answers]
    return {"messages": [{"role": "user", "content": f"question {number}"}, *said], "transformations": []}


def test_a_run_of_many_conversations_remembers_the_last() -> None:
    """A change is seen in those; one that was forgotten begins anew."""
    known: Conversations = {}
    for number in range(3 * MOST):
        assert continues(known, bundle(number, "first"))
        assert len(known) <= MOST
    assert not continues(known, bundle(3 * MOST - 1, "another", "second"))
    assert not continues(known, bundle(2 * MOST, "another", "second"))
    assert continues(known, bundle(0, "another", "second"))


def test_a_conversation_that_goes_on_is_a_recent_one() -> None:
    """However long ago it began."""
    known: Conversations = {}
    for number in range(3 * MOST):
        assert continues(known, bundle(number, "first"))
        assert continues(known, bundle(-1, *["more"] * number))
    assert not continues(known, bundle(-1, "less"))
