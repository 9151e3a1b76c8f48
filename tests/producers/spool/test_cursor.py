"""The cursor: a crash in the middle of a write leaves the position before it."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tachograph.producers.spool.cursor import START, CursorFile, Position, decode_slot, encode_slot, newest_slot
from tachograph.producers.spool.files import OS_FILES

positions = st.builds(
    Position,
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.dictionaries(st.integers(0, 2**31), st.integers(0, 2**62), max_size=50),
)


@given(st.integers(0, 2**63), positions)
def test_a_position_comes_back(version: int, position: Position) -> None:
    """With its version and every floor."""
    assert decode_slot(encode_slot(version, position)) == (version, position)


@given(positions, st.data())
def test_damage_is_never_a_position(position: Position, data: st.DataObject) -> None:
    """A cut or a flipped bit is found out."""
    slot = bytearray(encode_slot(7, position))
    cut = data.draw(st.integers(0, len(slot) - 1))
    assert decode_slot(bytes(slot[:cut])) is None
    slot[cut] ^= 1 << data.draw(st.integers(0, 7))
    assert decode_slot(bytes(slot)) is None


def test_the_other_slot_survives_a_torn_write(tmp_path: Path) -> None:
    """Whichever of the two is being written."""
    cursor = CursorFile(OS_FILES, tmp_path, "topic")
    for number in range(1, 5):
        cursor.write(Position(number, 0, {0: number}))
        raw = bytearray(cursor.path.read_bytes())
        at = raw.find(encode_slot(number, Position(number, 0, {0: number})))
        raw[at + 10] ^= 0xFF
        survivor = newest_slot(bytes(raw))
        assert survivor == ((number - 1, Position(number - 1, 0, {0: number - 1})) if number > 1 else (0, START))
    cursor.close()


def test_no_bytes_mean_that_nothing_was_sent(tmp_path: Path) -> None:
    """Which an adopter must be able to tell from damage: after damage it reads the topic from its start."""
    cursor = CursorFile(OS_FILES, tmp_path, "topic")
    cursor.reserve()
    assert cursor.read() is None
    cursor.path.write_bytes(b"\0" * 100 + b"garbage")
    assert cursor.read() == START
    cursor.close()


def test_a_reopened_cursor_goes_on_where_it_was(tmp_path: Path) -> None:
    """Versions continue, so that the newest slot stays the newest."""
    for number in range(1, 6):
        cursor = CursorFile(OS_FILES, tmp_path, "topic")
        cursor.read()
        cursor.write(Position(number, number, {3: number}))
        assert cursor.read() == Position(number, number, {3: number})
        cursor.close()
