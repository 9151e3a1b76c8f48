"""A record whose number is taken and whose bytes are not made yet.

At level ``memory`` nothing is durable before the broker has it, so redaction and encoding may wait for the thread that
sends: they still come before the first byte reaches a socket. The order of records is that of their numbers, which the
agent's thread gives out.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tachograph.producers.losses import Losses
from tachograph.producers.publishing import Message
from tachograph.producers.run_messages import TOPIC
from tachograph.schemas.enums import DropReason

if TYPE_CHECKING:
    from tachograph.producers.channel import RunChannel

MOST_LATE_BYTES = 64 * 1024
"""Largest content that may wait. What is larger is captured by the thread that brings it: it would keep the sender from
everybody else's records, and its caller is the one to be slowed down."""


class LateRecord:
    """Made into a message once, by the thread that sends."""

    __slots__ = ("_arguments", "_at", "_channel", "_name", "_seq", "_span_id", "_tail_of", "size")

    topic = TOPIC

    def __init__(  # noqa: PLR0917 - the parts of one thing
        self,
        channel: "RunChannel",
        name: str,
        tail_of: Callable[..., bytes],
        arguments: tuple[Any, ...],
        size: int,
        seq: int,
        at: int,
        span_id: str | None,
    ) -> None:
        self._channel = channel
        self._name = name
        self._tail_of = tail_of
        self._arguments = arguments
        self.size = size
        self._seq = seq
        self._at = at
        self._span_id = span_id

    def make(self) -> Message:
        """Redact and encode. A record that cannot be made is replaced by one that says so: its number is taken."""
        channel = self._channel
        try:
            tail = self._tail_of(*self._arguments)
            return channel.messages.message(
                self._name, tail, channel.id_at(self._at), self._seq, self._at, self._span_id
            )
        except Exception as error:  # noqa: BLE001 - nobody is there to be told: counted, logged once, reported
            channel.note("late record", type(error).__name__)
            return self.instead(DropReason.ENCODE_FAILED)

    def instead(self, reason: DropReason) -> Message:
        """EventsDropped in its place."""
        channel = self._channel
        losses = Losses(self._at)
        losses.add(self._name)
        channel.lost_late()
        tail = channel.messages.encoder.tail("EventsDropped", losses.body(reason))
        return channel.messages.message("EventsDropped", tail, channel.id_at(self._at), self._seq, self._at, None)
