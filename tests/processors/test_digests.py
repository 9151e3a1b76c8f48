"""A bounded memory of ids."""

from hypothesis import given
from hypothesis import strategies as st

from tachograph.processors.digests import Digests


@given(st.lists(st.tuples(st.text(), st.binary(min_size=2, max_size=2)), max_size=40, unique_by=lambda pair: pair[0]))
def test_the_newest_are_found_with_their_notes(entries: list[tuple[str, bytes]]) -> None:
    """Up to the limit; whether something was forgotten is known; all of it survives encoding."""
    digests = Digests(16, note=2)
    for key, note in entries:
        digests.add(key, note)
    for place, (key, note) in enumerate(entries):
        assert digests.find(key) == (note if place >= len(entries) - 16 else None)
    assert digests.forgot == (len(entries) > 16)
    assert len(digests) == min(16, len(entries))
    restored = Digests(16, note=2)
    restored.restore(digests.to_json())
    assert restored == digests
    assert digests.find("never added, and long enough not to be drawn") is None
