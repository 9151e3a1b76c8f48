"""Leaving out what has landed before: a restarted worker writes the same outputs again, further down the topic.

Every output names its place in the worker's input (:class:`~tachograph.schemas.headers.SourceCoordinates`). The worker
writes a stream in order, so whatever is not above the highest place seen is a repeat.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from tachograph.schemas.headers import COORDINATES_SIZE, Header, SourceCoordinates

Headers = Iterable[tuple[str, bytes | str | None]]
Marks = Mapping[str, tuple[int, int]]
"""Highest (offset, output index) by stream, the most recently advanced last."""

_SOURCE: Final = Header.SOURCE.value


class Repeats:
    """The high-water marks of one partition while a range of it is gone through."""

    __slots__ = ("_marks",)

    def __init__(self, marks: Marks) -> None:
        packed = (SourceCoordinates(*mark, stream).to_bytes() for stream, mark in marks.items())
        self._marks = {value[COORDINATES_SIZE:]: value[:COORDINATES_SIZE] for value in packed}

    def seen(self, headers: Headers | None) -> bool:
        """Whether a message is a repeat. If it is not, the mark moves up to it.

        A message without coordinates is nobody's repeat: it was not written by a worker of ours.
        """
        for name, value in headers or ():
            if name == _SOURCE and type(value) is bytes and len(value) > COORDINATES_SIZE:
                stream, place = value[COORDINATES_SIZE:], value[:COORDINATES_SIZE]
                mark = self._marks.pop(stream, b"")
                # Big-endian bytes compare like the numbers in them.
                if place <= mark:
                    self._marks[stream] = mark
                    return True
                self._marks[stream] = place
                return False
        return False

    @property
    def marks(self) -> Marks:
        """The marks after what was seen, the most recently used last."""
        read = (SourceCoordinates.from_bytes(place + stream) for stream, place in self._marks.items())
        return {found.stream: (found.offset, found.output_index) for found in read}
