"""How encoded records leave the agent: the seam between the tracer and whatever keeps its messages.

::

    TachographError
    └── Dropped                what was published is not kept, and was counted: go on, report it with EventsDropped
        ├── SpoolFull              no room; with ``when_full="raise"`` the agent itself must see it (``for_agent``)
        ├── SpoolUnavailable       the disk or folder refuses, or the publisher is closed
        ├── MessageTooLarge        no broker would take it
        └── MessageMalformed       it cannot be written as a frame: a bug in the caller

Importing this module costs nothing: Kafka's client is imported by the thread that sends, when it first sends.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, runtime_checkable

from tachograph.schemas.enums import DropReason
from tachograph.schemas.errors import TachographError

if TYPE_CHECKING:
    from tachograph.producers.spool.options import SpoolOptions
    from tachograph.producers.spool.publisher import SpoolPublisher

__all__ = [
    "Dropped",
    "LateMessage",
    "Message",
    "MessageMalformed",
    "MessageTooLarge",
    "Publisher",
    "PublisherStats",
    "SpoolFull",
    "SpoolOptions",
    "SpoolPublisher",
    "SpoolUnavailable",
    "publish_late_of",
]


class Message(NamedTuple):
    """One Kafka message, already redacted and encoded: from here on nobody looks inside."""

    topic: str
    key: bytes
    """The trace id. Messages of one topic and key arrive in the order in which they were published."""
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


class LateMessage(Protocol):
    """A message that is redacted and encoded by the thread that sends it, in the order in which it was published."""

    topic: str
    size: int
    """About how many bytes it holds in memory and will have: what bounds go by."""

    def make(self) -> Message:
        """The message. Called once."""

    def instead(self, reason: DropReason) -> Message:
        """What is sent in its place if what was made cannot be."""


class Dropped(TachographError):  # noqa: N818 - says what became of the message, as the record EventsDropped does
    """The message is not kept. It was counted; the caller reports it with an EventsDropped record when it can."""

    def __init__(self, sentence: str, *, reason: DropReason, for_agent: bool = False) -> None:
        super().__init__(sentence)
        self.reason = reason
        """What the EventsDropped record says."""
        self.for_agent = for_agent
        """True only where the user chose ``when_full="raise"``: do not swallow it."""


class SpoolFull(Dropped):
    """There was no room, or none came free in time."""

    def __init__(self, sentence: str, *, for_agent: bool = False) -> None:
        super().__init__(sentence, reason=DropReason.SPOOL_FULL, for_agent=for_agent)


class SpoolUnavailable(Dropped):
    """The spool cannot keep anything now: disk full, read-only, broken, or closed."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, reason=DropReason.SPOOL_IO)


class MessageTooLarge(Dropped):
    """The message is over the limit that brokers accept."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, reason=DropReason.TOO_LARGE)


class MessageMalformed(Dropped):
    """The message breaks a limit of Kafka's own: topic name, number of headers, length of a key."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, reason=DropReason.ENCODE_FAILED)


_NONE_DROPPED: Final[Mapping[DropReason, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherStats:
    """Counts since the publisher was made (in this process: a forked child starts from zero)."""

    spooled: int = 0
    """Messages whose ``publish`` returned."""
    sent: int = 0
    """Messages handed to the Kafka client, adopted ones and repeated attempts included."""
    acknowledged: int = 0
    """Messages the broker has acknowledged, adopted ones included."""
    already_there: int = 0
    """Messages found in Kafka when an uncertain tail was checked, and so not sent again."""
    rejected: int = 0
    """Messages the broker refuses for good, parked under ``rejected/``."""
    adopted: int = 0
    """Spools of dead processes taken over."""
    corrupt: int = 0
    """Damaged stretches met while reading segments back."""
    dropped: int = 0
    """Messages not kept, by any reason."""
    dropped_by_reason: Mapping[DropReason, int] = field(default_factory=lambda: _NONE_DROPPED)
    messages_waiting: int = 0
    """Messages of this process that the broker has not acknowledged."""
    bytes_waiting: int = 0
    """Their bytes in the spool."""
    durability: str = "memory"
    """Level at which messages are kept now; below the configured one if ``degraded``."""
    degraded: bool = False
    """The spool folder was unusable at the start, so messages are kept in memory only."""


@runtime_checkable
class Publisher(Protocol):
    """Keeps messages and brings them to the broker.

    Callers may publish from any thread, from a forked child and during interpreter shutdown. They may *not* assume
    that a published message is in Kafka (ask ``flush``), nor any order between messages of different keys.
    """

    def publish(self, message: Message) -> None:
        """Return once the message is kept at the configured durability. Raise Dropped if it cannot be."""

    def flush(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds; True if the broker acknowledged everything published before the call."""

    def close(self, timeout: float = 10.0) -> None:
        """Flush for up to ``timeout`` seconds, then stop. What is left in files is sent by a later process."""

    def stats(self) -> PublisherStats:
        """Counts so far."""


def publish_late_of(publisher: Publisher) -> Callable[[LateMessage], None] | None:
    """How this publisher takes messages that are not made yet; None if it does not: most must keep bytes at once."""
    if not getattr(publisher, "takes_late", False):
        return None
    late: Callable[[LateMessage], None] = publisher.publish_late  # type: ignore[attr-defined]
    return late


def __getattr__(name: str) -> Any:
    # The spool imports this module for the types above, so it is imported on first use, not here.
    if name in {"SpoolOptions", "SpoolPublisher"}:
        from tachograph.producers import spool  # noqa: PLC0415 - see above

        return getattr(spool, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
