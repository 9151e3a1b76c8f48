"""Source coordinates compare as raw bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.schemas.headers import COORDINATES_SIZE, SourceCoordinates, stream_name

COORDINATES = st.builds(
    SourceCoordinates, st.integers(0, 2**63 - 1), st.integers(0, 2**32 - 1), st.text(st.characters(codec="utf-8"))
)


@given(COORDINATES)
def test_coordinates_survive_their_header(coordinates: SourceCoordinates) -> None:
    """Header value and back is the identity."""
    assert SourceCoordinates.from_bytes(coordinates.to_bytes()) == coordinates


@given(COORDINATES, COORDINATES)
def test_bytes_compare_like_numbers(left: SourceCoordinates, right: SourceCoordinates) -> None:
    """A sink may compare the first bytes without unpacking them."""
    by_bytes = left.to_bytes()[:COORDINATES_SIZE] < right.to_bytes()[:COORDINATES_SIZE]
    assert by_bytes == ((left.offset, left.output_index) < (right.offset, right.output_index))


def test_a_short_header_is_refused() -> None:
    """Half a coordinate is none."""
    with pytest.raises(ValueError, match="12 bytes"):
        SourceCoordinates.from_bytes(b"short")


def test_a_stream_is_one_partition() -> None:
    """Coordinates of different partitions are never compared."""
    assert stream_name("tachograph.events.v1", 3) == "tachograph.events.v1/3"
