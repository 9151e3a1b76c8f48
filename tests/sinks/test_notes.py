"""The note beside a committed offset."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.sinks.clickhouse.notes import MAX_NOTE_BYTES, Note
from tachograph.sinks.errors import OffsetMetadataError

MARKS = st.dictionaries(st.text(max_size=60), st.tuples(st.integers(0, 2**63), st.integers(0, 2**32 - 1)), max_size=20)


@given(end=st.none() | st.integers(0, 2**63), marks=MARKS)
def test_a_note_reads_back_as_it_was_or_forgets_the_oldest(end: int | None, marks: dict[str, tuple[int, int]]) -> None:
    """It always fits the broker; what does not fit is the streams that were silent longest."""
    text = Note(end, marks).to_text()
    found = Note.from_text(text)
    assert len(text.encode()) <= MAX_NOTE_BYTES
    assert found.end == end
    kept = list(marks.items())[len(marks) - len(found.marks) :]
    assert list(found.marks.items()) == kept


def test_a_dead_letter_partition_fits() -> None:
    """Every topic as a stream of its own, with the largest numbers."""
    marks = {f"tachograph.rows.agent_quality_signals.v{n}/1023": (2**62, 2**20) for n in range(40)}
    assert Note.from_text(Note(2**62, marks).to_text()) == Note(2**62, marks)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("exported by hand", "not the sink's", id="another program's metadata"),
        pytest.param('{"v":1,"hwm":[]}', "not the sink's", id="marks of another shape"),
        pytest.param('{"v":2,"hwm":{}}', "newer sink", id="a note of a newer version"),
    ],
)
def test_a_note_that_must_not_be_overwritten_stops_the_sink(text: str, says: str) -> None:
    """Guessing would lose the high-water marks."""
    with pytest.raises(OffsetMetadataError, match=says):
        Note.from_text(text)


def test_no_metadata_is_an_empty_note() -> None:
    """An offset set with Kafka's own tools."""
    assert Note.from_text(None) == Note.from_text("") == Note()
