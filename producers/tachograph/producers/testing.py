"""For tests of agents: a publisher that keeps records in memory, and a clock and ids that repeat.

::

    publisher = InMemoryPublisher()
    tracer = Tracer(agent_id="a", publisher=publisher, clock=FixedClock(), ids=SequentialIds())
    ...
    assert publisher.records == [...]
"""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from tachograph.producers.publishing import Dropped, Message, PublisherStats
from tachograph.schemas.enums import DropReason
from tachograph.schemas.topics import CAPTURES, EVENTS
from tachograph.schemas.wire.codec import Codec

__all__ = ["FixedClock", "InMemoryPublisher", "KeptRecord", "SequentialIds"]


class KeptRecord(NamedTuple):
    """A record as a reader of the topic sees it."""

    type: str
    record: dict[str, Any]


class InMemoryPublisher:
    """Keeps messages in a list. ``drops`` says which ones it refuses, and why: a function of the message."""

    def __init__(self, drops: Callable[[Message], DropReason | None] | None = None) -> None:
        self.messages: list[Message] = []
        self.drops = drops
        self.closed = False
        self._dropped = 0
        self._lock = threading.Lock()
        self._codec = Codec()

    def publish(self, message: Message) -> None:
        """Keep the message, or raise Dropped."""
        reason = None if self.drops is None else self.drops(message)
        if reason is not None:
            with self._lock:
                self._dropped += 1
            raise Dropped("the test's publisher refuses this message", reason=reason)
        self.messages.append(message)

    def flush(self, timeout: float) -> bool:  # noqa: ARG002 - the seam's shape
        """Nothing waits."""
        return True

    def close(self, timeout: float = 10.0) -> None:  # noqa: ARG002 - the seam's shape
        """Take note."""
        self.closed = True

    def stats(self) -> PublisherStats:
        """Counts so far."""
        return PublisherStats(spooled=len(self.messages), dropped=self._dropped)

    @property
    def records(self) -> list[KeptRecord]:
        """Every record kept, decoded, in order."""
        return [KeptRecord(*self._codec.decode(message.value)) for message in self.events]

    @property
    def events(self) -> list[Message]:
        """Messages of the events topic."""
        return [message for message in self.messages if message.topic == EVENTS.name]

    @property
    def captures(self) -> list[Message]:
        """Messages of the captures topic."""
        return [message for message in self.messages if message.topic == CAPTURES.name]

    def of(self, record_type: str) -> list[dict[str, Any]]:
        """Records of one type."""
        return [kept.record for kept in self.records if kept.type == record_type]


class FixedClock:
    """Starts at a fixed moment and moves by a fixed step each time it is read."""

    def __init__(self, start_micros: int = 1_700_000_000_000_000, step_micros: int = 1000) -> None:
        self.micros = start_micros
        self.step = step_micros
        self._steady = 0

    def now_micros(self) -> int:
        """The moment, then one step further."""
        now = self.micros
        self.micros += self.step
        return now

    def steady_ns(self) -> int:
        """Steady time, one step further each time."""
        self._steady += self.step * 1000
        return self._steady


class SequentialIds:
    """Ids that count: the same program gives the same ids."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0

    def uuid(self) -> str:
        """A well-formed UUIDv7 with a counter for randomness."""
        number = self._next()
        return f"00000000-0000-7000-8000-{number:012x}"

    def trace_id(self) -> str:
        """32 digits."""
        return f"{self._next():032x}"

    def span_id(self) -> str:
        """16 digits."""
        return f"{self._next():016x}"

    def _next(self) -> int:
        with self._lock:
            self._number += 1
            return self._number
