"""Where callers append: one inlet per topic. The publisher holds its lock around ``append``."""

import contextlib
import errno
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any, Protocol

from tachograph.producers.publishing import LateMessage, Message
from tachograph.producers.spool.files import Files
from tachograph.producers.spool.frames import encode_frame
from tachograph.producers.spool.segment import OpenSegment, SegmentName, encode_header, write_all
from tachograph.producers.spool.source import Extent
from tachograph.producers.spool.subfolder import Subfolder


class Inlet(Protocol):
    """What the publisher needs of either kind."""

    total: int

    def append(self, body: bytes, message: Message | LateMessage, size: int) -> Any:
        """Keep one message, whose frame has ``size`` bytes. Gives a ticket.

        At level memory ``body`` is empty, and the message may be one that is not made yet.
        """

    def commit(self, ticket: Any) -> None:
        """Return once the message is on disk. Called without the publisher's lock."""

    def give_up(self, ticket: Any) -> None:
        """After ``commit`` raised, under the publisher's lock."""

    def close(self) -> None:
        """Append no more."""

    def close_inherited(self) -> None:
        """In a forked child: let go of the parent's file."""


class FileInlet:
    """Appends frames to the newest segment of a topic; the sender reads behind it. Raises OSError."""

    def __init__(self, files: Files, home: Subfolder, topic: str, *, segment_bytes: int, durable: bool) -> None:
        self._files = files
        self._write = files.write
        self._folder: Path = home.path
        self._spool = home.spool
        self._topic = topic
        self._segment_bytes = segment_bytes
        self._durable = durable
        self.total = 0
        """Messages appended and not given up."""
        self._open: OpenSegment | None = None
        self._last = 0
        self._sealed: dict[int, int] = {}
        self._gate = threading.Lock()
        """Held by whoever syncs; the others find their frame synced when they get it. Taken after the appender's."""
        self._failed: list[OpenSegment] = []

    def append(
        self,
        body: bytes,
        message: Message | LateMessage,  # noqa: ARG002 - as the queue's
        size: int,  # noqa: ARG002 - as the queue's
    ) -> tuple[OpenSegment, int]:
        """Write one frame. What it returns is for ``commit``."""
        segment = self._open
        if segment is None or segment.position >= self._segment_bytes:
            segment = self._roll()
        frame = encode_frame(segment.count, body)
        try:
            written = self._write(segment.fd, frame)
            if written != len(frame):
                write_all(self._files, segment.fd, frame[written:])
        except OSError:
            self._cut(segment)
            raise
        segment.count += 1
        self.total += 1
        segment.position += len(frame)
        if not self._durable:
            segment.committed = segment.position
        return segment, segment.position

    def commit(self, ticket: tuple[OpenSegment, int]) -> None:
        """Return once the frame is on disk. Called without the publisher's lock; callers share a sync."""
        segment, end = ticket
        if segment.committed >= end:
            return
        with self._gate:
            if segment.committed >= end:
                return
            if segment in self._failed:
                raise OSError(errno.EIO, "the sync that this message shared has failed")
            target = segment.position
            try:
                self._files.sync(segment.fd)
            except OSError:
                self._failed.append(segment)
                raise
            segment.committed = target

    def give_up(self, ticket: tuple[OpenSegment, int]) -> None:
        """After ``commit`` raised, under the publisher's lock: keep nothing behind the last good sync.

        Nobody knows what of it is on disk, its callers are told that it is dropped, and the sender has read none of it.
        """
        self.total -= 1
        if ticket[0] is self._open:
            self._abandon(ticket[0])

    def first(self) -> int | None:
        """Oldest segment that was not deleted."""
        numbers = list(self._sealed)
        if numbers:
            return min(numbers)
        segment = self._open
        return segment.number if segment is not None else None

    def after(self, number: int) -> int | None:
        """Next segment, if there is one."""
        segment = self._open
        later = [sealed for sealed in list(self._sealed) if sealed > number]
        if later:
            return min(later)
        return segment.number if segment is not None and segment.number > number else None

    def extent(self, number: int) -> Extent:
        """How much the sender may read."""
        segment = self._open
        if segment is not None and segment.number == number:
            return Extent(segment.committed, sealed=False)
        return Extent(self._sealed[number], sealed=True)

    def forget(self, number: int) -> None:
        """The sender has deleted it."""
        self._sealed.pop(number, None)

    def close(self) -> None:
        """Append no more; the sender may read to the end."""
        if self._open is not None:
            self._seal(self._open)

    def close_inherited(self) -> None:
        """In a forked child: let go of the parent's file."""
        if self._open is not None:
            self._files.close(self._open.fd)
            self._open = None

    def _roll(self) -> OpenSegment:
        if self._open is not None:
            self._seal(self._open)
        name = SegmentName(self._topic, self._last + 1)
        header = encode_header(self._spool, name.number, time.time_ns() // 1_000_000)
        fresh = OpenSegment.create(self._files, self._folder, name, header)
        self._last = name.number
        if self._open is not None:  # a signal handler or a finaliser has published meanwhile
            self._seal(self._open)
        self._open = fresh
        if self._durable:
            self._files.sync_folder(self._folder)
        return fresh

    def _seal(self, segment: OpenSegment) -> None:
        if self._durable:
            try:
                self.commit((segment, segment.position))
            except OSError:
                self._abandon(segment)
                raise
        self._sealed[segment.number] = segment.committed
        self._open = None
        with self._gate:
            self._files.close(segment.fd)

    def _cut(self, segment: OpenSegment) -> None:
        """Take back half a frame; if even that fails, write no more behind it."""
        try:
            self._files.truncate(segment.fd, segment.position)
        except OSError:
            self._abandon(segment)

    def _abandon(self, segment: OpenSegment) -> None:
        self._sealed[segment.number] = segment.committed
        self._open = None
        with self._gate:
            if self._durable:
                self._failed.append(segment)
            with contextlib.suppress(OSError):
                self._files.truncate(segment.fd, segment.committed)
            with contextlib.suppress(OSError):
                self._files.close(segment.fd)


class QueueInlet:
    """Keeps messages in memory."""

    def __init__(self) -> None:
        self.queue: deque[tuple[int, Message | LateMessage, int]] = deque()
        self.total = 0

    def append(self, body: bytes, message: Message | LateMessage, size: int) -> None:  # noqa: ARG002 - as the file's
        """Cannot fail."""
        self.queue.append((self.total, message, size))
        self.total += 1

    def commit(self, ticket: None) -> None:
        """Nothing to wait for."""

    def give_up(self, ticket: None) -> None:
        """Nothing to take back."""

    def close(self) -> None:
        """Nothing to close."""

    def close_inherited(self) -> None:
        """The parent sends what is in it."""
