"""What the sender needs of Kafka. The real one is ``kafka.py``; tests hand in one that loses what they tell it to."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple, Protocol

from tachograph.producers.publishing import Message
from tachograph.schemas.errors import TachographError


class TransportUnavailable(TachographError):  # noqa: N818 - a state of the world, not a mistake
    """The broker cannot be asked now. Retry."""


class TopicUnavailable(TransportUnavailable):
    """The broker answers, but not about this topic. Retry; other topics may go on."""


class Fate(Enum):
    """What became of a message that was sent."""

    DELIVERED = "delivered"
    """The broker has it on every replica in sync."""
    REFUSED = "refused"
    """The broker does not have it and will never take it, or its batch, as it is."""
    UNKNOWN = "unknown"
    """It may or may not have it. The transport is of no more use."""


class Report(NamedTuple):
    """Answer for one message."""

    token: object
    """What was given to ``send``."""
    fate: Fate
    partition: int = -1
    offset: int = -1
    reason: str = ""
    """Name of the broker's error, for the log."""


Place = tuple[int, int]
"""Segment and frame of a message in its spool."""


Found = Mapping[bytes, Mapping[Place, tuple[int, int]]]
"""By spool and place: partition and offset."""


class Transport(Protocol):
    """One producer. Messages of a partition arrive in the order of ``send``, without gaps, or not at all.

    Used by one thread. ``send`` of a message is followed by exactly one report for it, unless the transport is closed.
    After any report that is not DELIVERED nothing more may be sent: close it and make another.
    """

    def send(self, message: Message, spool: bytes, place: Place, token: object) -> bool:
        """Queue a message. False if there is no room now."""

    def poll(self, timeout: float) -> list[Report]:
        """Reports that have come in; waits up to ``timeout`` seconds for the first."""

    def ends(self, topic: str) -> Mapping[int, int]:
        """Offset behind the last message of each partition. Raises TransportUnavailable."""

    def find(self, topic: str, floors: Mapping[bytes, Mapping[int, int]], stop: Callable[[], bool]) -> Found:
        """Which messages of these spools are in the topic, and where.

        ``floors`` are by spool and partition. Reads each partition once, from its lowest floor, or from its start
        where a spool has none or where the topic no longer reaches back to it, to its present end. Raises
        TransportUnavailable, also when ``stop`` says so.
        """

    def close(self) -> None:
        """Forget what is queued and let go of the connections. Waits for nothing."""


Connect = Callable[[], Transport]
