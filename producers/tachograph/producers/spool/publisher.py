"""The publisher that agents use: append to the spool, return, and let a thread bring it to Kafka."""

import contextlib
import dataclasses
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tachograph.producers.publishing import (
    Dropped,
    LateMessage,
    Message,
    MessageMalformed,
    MessageTooLarge,
    PublisherStats,
    SpoolFull,
    SpoolUnavailable,
)
from tachograph.producers.spool.complaints import LOGGER, Complaints
from tachograph.producers.spool.exiting import close_at_exit
from tachograph.producers.spool.files import OS_FILES, Files
from tachograph.producers.spool.forking import abandon, follow_forks
from tachograph.producers.spool.frames import PREFIX_SIZE, body_size, encode_body
from tachograph.producers.spool.identity import SPOOL_ID_SIZE
from tachograph.producers.spool.inlet import Inlet
from tachograph.producers.spool.kafka import KafkaTransport
from tachograph.producers.spool.lane import Lane
from tachograph.producers.spool.loop import SendLoop
from tachograph.producers.spool.options import SpoolOptions
from tachograph.producers.spool.segment import usable_topic
from tachograph.producers.spool.sender import Sender
from tachograph.producers.spool.subfolder import Subfolder
from tachograph.producers.spool.topic import OwnTopic, in_files, in_memory
from tachograph.producers.spool.transport import Connect
from tachograph.schemas.enums import DropReason
from tachograph.schemas.errors import ConfigError

if TYPE_CHECKING:
    from tachograph.schemas.settings import KafkaSettings, Settings

_LEAST_JOIN_S: Final = 0.5


class SpoolPublisher:
    """Keeps messages in segment files (or in memory) until the broker has acknowledged them.

    ``SpoolPublisher(SpoolOptions(folder=Path("spool")), kafka=settings.kafka)`` is what a process needs. ``transport``
    replaces Kafka and ``files`` the disk, for tests; with ``start=False`` no thread sends and the test calls ``turn``.
    """

    def __init__(
        self,
        options: SpoolOptions | None = None,
        *,
        kafka: "KafkaSettings | None" = None,
        transport: Connect | None = None,
        files: Files = OS_FILES,
        clock: Callable[[], float] = time.monotonic,
        start: bool = True,
    ) -> None:
        if kafka is None and transport is None:
            raise ConfigError("a spool needs the settings of the broker that it sends to")
        self._asked = options or SpoolOptions()
        self._kafka = kafka
        self._connect = transport or self._connect_kafka
        self._files = files
        self._clock = clock
        self._start = start
        self._complaints = Complaints()
        self._max_frame = self._asked.max_message_bytes
        self._max_bytes = self._asked.max_bytes
        self._durable = self._asked.durability == "disk"
        self._frameless = self._asked.durability == "memory"
        self._closed = False
        self._begin()
        self._open()
        follow_forks(self)
        close_at_exit(self)

    @classmethod
    def from_settings(cls, settings: "Settings", **changes: Any) -> "SpoolPublisher":
        """Publisher of a process configured by ``load_settings``; its spool is ``<home>/spool`` if not changed."""
        return cls(SpoolOptions(**{"folder": settings.home / "spool", **changes}), kafka=settings.kafka)

    def publish(self, message: Message) -> None:
        """Append the message; see :class:`tachograph.producers.publishing.Publisher`."""
        try:
            if self._frameless:
                body, size = b"", body_size(message) + PREFIX_SIZE
            else:
                body = encode_body(message)
                size = len(body) + PREFIX_SIZE
        except MessageMalformed as error:
            self._drop(error)
        if size > self._max_frame:
            self._drop(MessageTooLarge(f"a message of {size} bytes is over the limit of {self._max_frame}"))
        with self._lock:
            if self._taken - self._freed + size > self._max_bytes:
                self._make_room(size)
            try:
                inlet = self._inlets.get(message.topic) or self._open_inlet(message.topic)
                ticket = inlet.append(body, message, size)
            except OSError as error:
                self._drop(SpoolUnavailable(f"the spool cannot be written: {error.strerror}"))
            self._taken += size
            self._spooled += 1
        if self._durable:
            self._commit(inlet, ticket, size)
        if self._loop is not None and self._loop.asleep:
            self._loop.wake()

    @property
    def takes_late(self) -> bool:
        """Whether messages may be made by the thread that sends: where nothing is promised beyond this process."""
        return self._frameless

    def publish_late(self, late: LateMessage) -> None:
        """Queue a message that is not made yet. Only at level ``memory``; bounded and dropped like any other."""
        size = late.size
        with self._lock:
            if self._taken - self._freed + size > self._max_bytes:
                self._make_room(size)
            inlet = self._inlets.get(late.topic) or self._open_inlet(late.topic)
            inlet.append(b"", late, size)
            self._taken += size
            self._spooled += 1
        if self._loop is not None and self._loop.asleep:
            self._loop.wake()

    def flush(self, timeout: float) -> bool:
        """Wait for the broker; see Publisher. False also if one of the messages was refused for good."""
        with self._lock:
            loop, topics = self._loop, list(self._topics.values())
        if loop is None:
            return not topics
        refused = loop.sender.rejected
        wanted = [(topic, topic.inlet.total) for topic in topics]
        loop.hurry(on=True)
        try:
            done = self._wait_for(
                lambda: all(topic.lane.passed >= min(count, topic.inlet.total) for topic, count in wanted), timeout
            )
        finally:
            loop.hurry(on=False)
        return done and loop.sender.rejected == refused

    def close(self, timeout: float = 10.0) -> None:
        """Flush, stop, and leave what is left in files to a later process; see Publisher."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._inlets.clear()
            self._changed.notify_all()
        deadline = time.monotonic() + timeout
        self.flush(timeout)
        loop = self._loop
        if loop is not None and loop.stop(max(_LEAST_JOIN_S, deadline - time.monotonic())):
            self._leave()
        unsent = self._spooled - self._passed
        if unsent and self._home is not None:
            LOGGER.warning(
                "%d records wait in %s: the broker%s has not acknowledged them. The next process that uses the folder "
                "sends them, or `tachograph spool drain %s`",
                unsent,
                self._asked.folder,
                "" if self._kafka is None else f" at {self._kafka.address}",
                self._asked.folder,
            )

    def close_at_exit(self) -> None:
        """Close in the time that the interpreter's exit may take."""
        self.close(self._asked.exit_timeout)

    def stats(self) -> PublisherStats:
        """Counts so far."""
        loop = self._loop
        return PublisherStats(
            spooled=self._spooled,
            sent=loop.sender.sent if loop else 0,
            acknowledged=loop.sender.acknowledged if loop else 0,
            already_there=loop.found if loop else 0,
            rejected=loop.sender.rejected if loop else 0,
            adopted=loop.adopted if loop else 0,
            corrupt=loop.corrupt if loop else 0,
            dropped=self._dropped.total(),
            dropped_by_reason=MappingProxyType(dict(self._dropped)),
            messages_waiting=self._spooled - self._passed,
            bytes_waiting=self._taken - self._freed,
            durability=self._options.durability,
            degraded=self._options.durability != self._asked.durability,
        )

    def turn(self) -> bool:
        """Send a little in the caller's thread; only with ``start=False``. True if there is more to do at once."""
        assert not self._start
        return self._loop is not None and self._loop.turn()

    def before_fork(self) -> None:
        """Let no append be half done, and no late message: redaction has locks of its own, which a child inherits."""
        self._making.acquire()
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._lock.release()
        self._making.release()

    def after_fork_in_child(self) -> None:
        """Leave everything to the parent; the first ``publish`` makes a spool of our own."""
        for topic in self._topics.values():
            topic.inlet.close_inherited()
        if self._home is not None:
            self._home.close_inherited()
        transport = self._loop.forget() if self._loop is not None else None
        if transport is not None:
            abandon(transport)
        self._begin()

    def _begin(self) -> None:
        self._options = self._asked
        self._lock = threading.RLock()  # a signal handler or a finaliser may publish while its thread does
        self._making = threading.RLock()
        """Held while a late message is made. Taken before ``_lock`` where both are."""
        self._changed = threading.Condition(self._lock)
        self._waiters = 0
        self._inlets: dict[str, Inlet] = {}
        self._topics: dict[str, OwnTopic] = {}
        self._home: Subfolder | None = None
        self._loop: SendLoop | None = None
        self._taken = self._freed = 0
        self._spooled = self._passed = 0
        self._stalled_at = -1
        self._dropped: Counter[DropReason] = Counter()

    def _open(self) -> None:
        root: Path | None = None
        if self._asked.durability != "memory":
            try:
                self._home = Subfolder.create(self._files, self._asked.folder, durable=self._durable)
                root = self._asked.folder
            except OSError as error:
                if self._durable:
                    self._complaints.say("the spool's folder is unusable, every message is dropped: %s", error.strerror)
                    return
                LOGGER.warning(
                    "the spool's folder is unusable (%s): messages are kept in memory and do not survive this process",
                    error.strerror,
                )
                self._options = dataclasses.replace(self._asked, durability="memory")
        self._spool = self._home.spool if self._home is not None else os.urandom(SPOOL_ID_SIZE)
        loop = SendLoop(
            self._options,
            lambda stop: Sender(
                self._options, self._connect, self._files, root=root, on_done=self._done, clock=self._clock, stop=stop
            ),
            self._files,
            root=root,
            pending=lambda: self._spooled > self._passed,
            clock=self._clock,
        )
        loop.adopt()
        self._loop = loop
        if self._start:
            loop.start()

    def _open_inlet(self, topic: str) -> Inlet:
        if self._closed:
            self._drop(SpoolUnavailable("the publisher is closed"))
        if not usable_topic(topic):
            self._drop(MessageMalformed("the topic's name is not one that Kafka takes"))
        if self._loop is None:
            self._open()
        if self._loop is None:
            self._drop(SpoolUnavailable("the spool's folder is unusable"))
        own = (
            in_memory(self._spool, topic, self._make)
            if self._home is None
            else in_files(self._files, self._home, topic, self._options)
        )
        self._loop.add(own.lane)
        self._topics[topic] = own
        self._inlets[topic] = own.inlet
        return own.inlet

    def _make(self, late: LateMessage) -> Message:
        """Called by the sending thread."""
        with self._making:
            message = late.make()
            if body_size(message) + PREFIX_SIZE > self._max_frame:
                self._dropped[DropReason.TOO_LARGE] += 1
                message = late.instead(DropReason.TOO_LARGE)
            return message

    def _commit(self, inlet: Inlet, ticket: object, size: int) -> None:
        try:
            inlet.commit(ticket)
        except OSError as error:
            with self._lock:
                inlet.give_up(ticket)
                self._taken -= size
                self._spooled -= 1
            self._drop(SpoolUnavailable(f"the spool cannot be synced: {error.strerror}"))

    def _make_room(self, size: int) -> None:
        for_agent = self._asked.when_full == "raise"
        waits = self._asked.when_full == "block" and self._stalled_at != self._freed and size <= self._max_bytes
        if not (waits and self._wait_for(lambda: self._fits(size), self._asked.block_timeout)):
            if waits:
                self._stalled_at = self._freed
            waiting = self._taken - self._freed
            self._drop(SpoolFull(f"{waiting} of {self._max_bytes} bytes wait for the broker", for_agent=for_agent))

    def _fits(self, size: int) -> bool:
        return self._closed or self._taken - self._freed + size <= self._max_bytes

    def _wait_for(self, holds: Callable[[], bool], timeout: float) -> bool:
        with self._changed:
            self._waiters += 1
            try:
                if self._loop is not None:
                    self._loop.wake()
                return self._changed.wait_for(holds, timeout)
            finally:
                self._waiters -= 1

    def _done(self, lane: Lane, count: int, size: int) -> None:
        """Called by the sending thread."""
        if lane.spool == self._spool:
            self._freed += size
            self._passed += count
            # Whoever waits has said so before looking at the counts, so it either sees them or is seen here.
            if self._waiters:
                with self._changed:
                    self._changed.notify_all()

    def _drop(self, error: Dropped) -> NoReturn:
        with self._lock:
            self._dropped[error.reason] += 1
        raise error from None

    def _leave(self) -> None:
        """After the thread has ended: delete what is done with, let go of the rest."""
        unsent = self._spooled - self._passed
        for topic in self._topics.values():
            with contextlib.suppress(OSError):  # the last sync, for frames whose callers have been told already
                topic.inlet.close()
            if topic.done:
                topic.lane.remove()
            else:
                topic.lane.close()
        if self._home is not None:
            self._home.remove()
        elif unsent:
            self._dropped[DropReason.SPOOL_IO] += unsent
            LOGGER.warning("%d messages were only in memory when the publisher closed, and are lost", unsent)

    def _connect_kafka(self) -> KafkaTransport:
        assert self._kafka is not None
        return KafkaTransport(self._kafka, max_message_bytes=self._max_frame)
