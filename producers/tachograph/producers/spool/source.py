"""Where a lane gets its messages from, in order: segment files, or a queue in memory."""

import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from tachograph.producers.publishing import LateMessage, Message
from tachograph.producers.spool.files import Files
from tachograph.producers.spool.frames import decode_body, scan
from tachograph.producers.spool.segment import HEADER_SIZE, SegmentName

_CHUNK: Final = 256 * 1024


class Item(NamedTuple):
    """A message and its place."""

    segment: int
    frame: int
    message: Message
    size: int


class Source(Protocol):
    """Messages in the order in which they were published. Used by the sending thread alone."""

    segment: int
    """The segment that is being read; all before it have been read to their end."""
    corrupt: int
    """Damaged stretches met so far."""

    @property
    def exhausted(self) -> bool:
        """Everything there is has been taken."""

    def take(self, limit: int) -> list[Item]:
        """The next messages; empty if there are none now."""

    def has_before(self, segment: int) -> bool:
        """There is a file of an earlier segment."""

    def forget_before(self, segment: int) -> None:
        """Every message before ``segment`` is done with."""

    def close(self) -> None:
        """Let go of files."""


class Extent(NamedTuple):
    """How much of a segment may be read."""

    end: int
    sealed: bool
    """Nothing will be added."""


class Shelf(Protocol):
    """The segments of one topic, whoever writes them."""

    def first(self) -> int | None:
        """Number of the oldest segment."""

    def after(self, number: int) -> int | None:
        """Number of the next one."""

    def extent(self, number: int) -> Extent:
        """How much of it may be read."""

    def forget(self, number: int) -> None:
        """It was deleted."""


class SegmentSource:
    """Reads segments, steps over damage, deletes what is done with."""

    def __init__(
        self, files: Files, folder: Path, topic: str, shelf: Shelf, *, start: tuple[int, int] = (0, 0)
    ) -> None:
        self._files = files
        self._folder = folder
        self._topic = topic
        self._shelf = shelf
        self._start = start
        self._fd: int | None = None
        self._at = HEADER_SIZE
        self.segment = 0
        self.corrupt = 0

    @property
    def exhausted(self) -> bool:
        """The last segment was read to its end, and will not grow."""
        return self._fd is None and self._shelf.after(self.segment) is None

    def take(self, limit: int) -> list[Item]:
        """The next messages, all from one segment."""
        while self._fd is not None or self._open_next():
            extent = self._shelf.extent(self.segment)
            items = self._read(extent, limit)
            if items:
                return items
            if self._at < extent.end:
                continue  # what was read is done with already, or damaged; there is more
            if not extent.sealed:
                return []
            self._close_file()
        return []

    def has_before(self, segment: int) -> bool:
        """There is a file of an earlier segment."""
        number = self._shelf.first()
        return number is not None and number < segment

    def forget_before(self, segment: int) -> None:
        """Delete the files of earlier segments."""
        number = self._shelf.first()
        while number is not None and number < segment:
            self._files.unlink(SegmentName(self._topic, number).path(self._folder))
            self._shelf.forget(number)
            number = self._shelf.first()

    def close(self) -> None:
        """Let go of the file that is being read."""
        self._close_file()

    def _read(self, extent: Extent, limit: int) -> list[Item]:
        left = extent.end - self._at
        if left <= 0:
            return []
        assert self._fd is not None
        size = min(left, _CHUNK)
        found = scan(self._files.pread(self._fd, size, self._at), limit=limit, final=size == left)
        if not found.consumed:
            # One frame is longer than a chunk, or something is damaged: look at all that is left.
            found = scan(self._files.pread(self._fd, left, self._at), limit=limit, final=True)
        # A file that is shorter than it was when it was written gives nothing: step over what is missing.
        self._at += found.consumed or left
        self.corrupt += found.corrupt if found.consumed else 1
        segment = self.segment
        return [
            Item(segment, frame.number, decode_body(self._topic, frame.body), frame.size)
            for frame in found.frames
            if (segment, frame.number) >= self._start
        ]

    def _open_next(self) -> bool:
        number = self._shelf.after(self.segment)
        if number is None:
            return False
        self._fd = self._files.open(SegmentName(self._topic, number).path(self._folder), os.O_RDONLY)
        self.segment = number
        self._at = HEADER_SIZE
        return True

    def _close_file(self) -> None:
        if self._fd is not None:
            self._files.close(self._fd)
            self._fd = None


class FoundShelf:
    """The segments a dead process left."""

    def __init__(self, folder: Path, topic: str, numbers: list[int]) -> None:
        self._folder = folder
        self._topic = topic
        self._numbers = deque(sorted(numbers))

    def first(self) -> int | None:
        """Oldest that is left."""
        return self._numbers[0] if self._numbers else None

    def after(self, number: int) -> int | None:
        """Next that is left."""
        return next((candidate for candidate in self._numbers if candidate > number), None)

    def extent(self, number: int) -> Extent:
        """All of the file."""
        return Extent(SegmentName(self._topic, number).path(self._folder).stat().st_size, sealed=True)

    def forget(self, number: int) -> None:
        """It was deleted."""
        self._numbers.remove(number)


Make = Callable[[LateMessage], Message]
"""Redacts and encodes a message that was published before it was made."""


class QueueSource:
    """Messages that were never in a file. All are of segment 1."""

    def __init__(self, queue: deque[tuple[int, Message | LateMessage, int]], make: Make) -> None:
        self._queue = queue
        self._make = make
        self.segment = 1
        self.corrupt = 0

    @property
    def exhausted(self) -> bool:
        """The queue is empty."""
        return not self._queue

    def take(self, limit: int) -> list[Item]:
        """The next messages."""
        items: list[Item] = []
        while self._queue and len(items) < limit:
            index, message, size = self._queue[0]
            try:
                made = message if isinstance(message, Message) else self._make(message)
            except Exception:
                if items:  # they are not to be lost with it; it is still there, and raises next time
                    return items
                raise
            self._queue.popleft()
            items.append(Item(1, index, made, size))
        return items

    def has_before(self, segment: int) -> bool:  # noqa: ARG002 - there are no files
        """Never."""
        return False

    def forget_before(self, segment: int) -> None:
        """Nothing to delete."""

    def close(self) -> None:
        """Nothing to close."""
