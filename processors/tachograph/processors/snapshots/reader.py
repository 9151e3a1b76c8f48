"""Reads the captures topic where a request points, with a consumer that joins no group and commits nothing."""

import logging
from collections.abc import Iterator, Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tachograph.processors.errors import BrokerUnreachableError
from tachograph.processors.snapshots.captures import CaptureIndex, read_part
from tachograph.schemas.settings import Settings

__all__ = ["KafkaCaptures"]

log = logging.getLogger(__name__)

_POLL_S: Final = 1.0
_SILENT_POLLS: Final = 30
"""Empty polls after which a broker that has what we ask for counts as unreachable."""
_READ_ON: Final = 64
"""Messages that are read and passed over instead of sought past: an assignment costs 0.2 s, a message under 1 ms."""


class KafkaCaptures:
    """Finds captures and fetches their bytes. Used from one thread at a time."""

    def __init__(self, settings: Settings, topic: str, index: CaptureIndex) -> None:
        self._topic = topic
        self._index = index
        self._timeout_s = settings.kafka.request_timeout_ms / 1000
        self._scanned: dict[int, tuple[int, int]] = {}
        """Offsets ``[from, to)`` whose headers are in the index, by partition."""
        self._place: tuple[int, int] | None = None
        """Partition that is assigned, and the offset that the next poll gives."""
        configuration = settings.kafka.client(
            **{
                "group.id": f"{settings.snapshots.group_id}-reader",
                "client.id": "tachograph-snapshots-reader",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 100,
            }
        )
        self._consumer = Consumer(configuration, logger=log)
        # On a connection that also fetches, every question would wait for the fetch before it: 0.1 s each.
        self._asking = Consumer(configuration, logger=log)

    def scan(self, partition: int, since: int) -> None:
        """Note every capture that was appended at or after ``since`` (microseconds), up to the end there is now."""
        first, end = self._bounds(partition, since)
        known = self._scanned.get(partition)
        start = first if known is None or first < known[0] else max(known[1], first)
        overflown: set[int] = set()
        for message in self._messages(partition, start, end):
            part = read_part(
                partition,
                message.offset() or 0,
                message.timestamp()[1] * 1000,
                message.key(),
                message.headers() or [],  # type: ignore[arg-type]  # a list, as we use it
            )
            forgotten = None if part is None else self._index.observe(part)
            if forgotten is not None:
                overflown.add(forgotten)
        self._scanned[partition] = (first if known is None else min(first, known[0]), end)
        for forgotten in overflown:  # what was forgotten there is found by reading again
            self._scanned.pop(forgotten, None)

    def fetch(self, partition: int, offsets: Sequence[int]) -> list[bytes] | None:
        """Values at these offsets, in the order given; None if one of them is gone."""
        wanted, found = set(offsets), {}
        for message in self._messages(partition, min(wanted), max(wanted) + 1):
            if message.offset() in wanted:
                found[message.offset()] = message.value() or b""
        return [found[offset] for offset in offsets] if wanted <= found.keys() else None

    def close(self) -> None:
        """Leave the broker."""
        self._consumer.close()
        self._asking.close()

    def _messages(self, partition: int, start: int, end: int) -> Iterator[Message]:
        if start >= end:
            return
        self._go_to(partition, start)
        silent = 0
        while silent < _SILENT_POLLS:
            message = self._consumer.poll(_POLL_S)
            error = None if message is None else message.error()
            if message is None or (error is not None and error.code() != KafkaError._PARTITION_EOF):  # noqa: SLF001 - librdkafka's own code
                silent += 1
                continue
            if error is not None:
                return  # the end of the partition: offsets before it may have expired meanwhile
            offset = message.offset() or 0
            self._place = (partition, offset + 1)
            if offset >= end:
                return
            silent = 0
            if offset >= start:
                yield message
            if offset == end - 1:
                return
        raise BrokerUnreachableError("Kafka did not give the captures it has; restart when the broker is well again")

    def _go_to(self, partition: int, start: int) -> None:
        """Read on from where the last call stopped if that is near, else begin anew."""
        if self._place is not None and self._place[0] == partition and 0 <= start - self._place[1] <= _READ_ON:
            return
        self._consumer.assign([TopicPartition(self._topic, partition, start)])
        self._place = (partition, start)

    def _bounds(self, partition: int, since: int) -> tuple[int, int]:
        low, high = self._watermarks(partition)
        asked = TopicPartition(self._topic, partition, max(0, since // 1000))
        try:
            [found] = self._asking.offsets_for_times([asked], timeout=self._timeout_s)
        except KafkaException as error:
            raise _unreachable(error) from None
        return (max(low, found.offset) if found.offset >= 0 else high), high

    def _watermarks(self, partition: int) -> tuple[int, int]:
        try:
            found = self._asking.get_watermark_offsets(
                TopicPartition(self._topic, partition), timeout=self._timeout_s, cached=False
            )
        except KafkaException as error:
            raise _unreachable(error) from None
        if found is None:
            raise BrokerUnreachableError("Kafka did not say what the captures topic holds; is the broker well?")
        return found[0], found[1]


def _unreachable(error: KafkaException) -> BrokerUnreachableError:
    return BrokerUnreachableError(
        f"Kafka did not answer about the captures topic ({error.args[0].name()}); restart when the broker is well again"
    )
