"""A broker in memory that keeps, loses or refuses what a test tells it to, and a disk that does the same."""

import errno
import os
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tachograph.producers.publishing import Message
from tachograph.producers.spool.files import Files
from tachograph.producers.spool.transport import Fate, Found, Place, Report, TopicUnavailable, TransportUnavailable

PARTITIONS = 3


@dataclass
class Kept:
    """A message in the broker's log."""

    message: Message
    spool: bytes
    place: Place


@dataclass
class FakeBroker:
    """Logs by topic and partition. Transports write to it; the test reads it and breaks it."""

    logs: dict[str, list[list[Kept]]] = field(default_factory=dict)
    away: bool = False
    missing_topics: set[str] = field(default_factory=set)
    refuse: Callable[[Message], bool] = lambda _: False
    transports: "list[FakeTransport]" = field(default_factory=list)

    def connect(self) -> "FakeTransport":
        transport = FakeTransport(self)
        self.transports.append(transport)
        return transport

    def partitions(self, topic: str) -> list[list[Kept]]:
        if self.away:
            raise TransportUnavailable("nobody there")
        if topic in self.missing_topics:
            raise TopicUnavailable("not there")
        return self.logs.setdefault(topic, [[] for _ in range(PARTITIONS)])

    def keep(self, message: Message, spool: bytes, place: Place) -> tuple[int, int]:
        partition = sum(message.key) % PARTITIONS
        log = self.partitions(message.topic)[partition]
        log.append(Kept(message, spool, place))
        return partition, len(log) - 1

    def values(self, topic: str) -> dict[bytes, list[bytes]]:
        """Values by key, in the order of the log."""
        found: dict[bytes, list[bytes]] = {}
        for log in self.logs.get(topic, []):
            for kept in log:
                found.setdefault(kept.message.key, []).append(kept.message.value)
        return found


class FakeTransport:
    """Delivers at ``poll``, at most ``pace`` messages each time."""

    def __init__(self, broker: FakeBroker) -> None:
        self.broker = broker
        self.pace = 1_000_000
        self.room = 1_000_000
        self.closed = False
        self._queue: deque[tuple[Message, bytes, Place, object]] = deque()
        self._reports: list[Report] = []

    def send(self, message: Message, spool: bytes, place: Place, token: object) -> bool:
        assert not self.closed
        if len(self._queue) >= self.room:
            return False
        self._queue.append((message, spool, place, token))
        return True

    def poll(self, timeout: float) -> list[Report]:  # noqa: ARG002 - the test has no time
        for _ in range(min(self.pace, len(self._queue))):
            if self.broker.away:
                break
            message, spool, place, token = self._queue.popleft()
            if self.broker.refuse(message):
                # Gapless: everything behind it in the queue fails with it, and was not taken.
                self._reports.append(Report(token, Fate.REFUSED, reason="MSG_SIZE_TOO_LARGE"))
                self._reports += [Report(item[3], Fate.UNKNOWN, reason="_PURGE_QUEUE") for item in self._queue]
                self._queue.clear()
                break
            partition, offset = self.broker.keep(message, spool, place)
            self._reports.append(Report(token, Fate.DELIVERED, partition, offset))
        reports, self._reports = self._reports, []
        return reports

    def ends(self, topic: str) -> Mapping[int, int]:
        return {number: len(log) for number, log in enumerate(self.broker.partitions(topic))}

    def find(
        self,
        topic: str,
        floors: Mapping[bytes, Mapping[int, int]],
        stop: Callable[[], bool],  # noqa: ARG002 - it is done at once
    ) -> Found:
        return {
            spool: {
                kept.place: (number, offset)
                for number, log in enumerate(self.broker.partitions(topic))
                for offset, kept in enumerate(log)
                if kept.spool == spool and offset >= known.get(number, 0)
            }
            for spool, known in floors.items()
        }

    def close(self) -> None:
        self.closed = True
        self._queue.clear()

    def take_silently(self, count: int) -> None:
        """The broker takes the next messages, and its answers never arrive."""
        if self.broker.away:
            return
        for _ in range(min(count, len(self._queue))):
            message, spool, place, _ = self._queue.popleft()
            self.broker.keep(message, spool, place)

    def lose(self) -> None:
        """The producer fails for good."""
        self._reports += [Report(item[3], Fate.UNKNOWN, reason="_FATAL") for item in self._queue]
        self._queue.clear()


class FakeDisk:
    """The real disk, with switches."""

    def __init__(self) -> None:
        self.error: int | None = None
        self.short_write = False
        self.sync_error: int | None = None
        self.truncate_error: int | None = None
        self.syncs = 0
        self.files = Files(
            mkdir=self._mkdir, open=self._open, write=self._write, sync=self._sync, truncate=self._truncate
        )

    def _fail(self, number: int | None) -> None:
        if number is not None:
            raise OSError(number, os.strerror(number))

    def _mkdir(self, path: Path) -> None:
        self._fail(self.error)
        Files().mkdir(path)

    def _open(self, path: Path, flags: int) -> int:
        if flags & os.O_CREAT:
            self._fail(self.error)
        return Files().open(path, flags)

    def _write(self, fd: int, data: bytes) -> int:
        if self.short_write and len(data) > 1:
            self.short_write = False
            self.error = errno.ENOSPC
            return os.write(fd, data[: len(data) // 2])
        self._fail(self.error)
        return os.write(fd, data)

    def _sync(self, fd: int) -> None:  # noqa: ARG002 - the bytes are not what is tested
        self.syncs += 1
        self._fail(self.sync_error)

    def _truncate(self, fd: int, size: int) -> None:
        self._fail(self.truncate_error)
        os.ftruncate(fd, size)


class FakeClock:
    """Time that moves when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now
