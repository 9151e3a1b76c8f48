"""Reads a range of a topic, with a consumer that joins no group and commits nothing."""

import logging
from collections.abc import Iterator
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tachograph.processors.errors import BrokerUnreachableError
from tachograph.schemas.settings import Settings

log = logging.getLogger(__name__)

_POLL_S: Final = 1.0
_ATTEMPTS: Final = 10
_PASSING: Final = frozenset({KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE})
"""A partition is on its way from one leader to the next, or was made a moment ago."""
_SILENT_POLLS: Final = 30
"""Empty polls after which a broker that has what we ask for counts as unreachable."""


class RangeReader:
    """What a partition holds, and from where to where. Used from one thread at a time."""

    def __init__(self, settings: Settings, group_id: str) -> None:
        self._timeout_s = settings.kafka.request_timeout_ms / 1000
        self._consumer = Consumer(
            settings.kafka.client(
                **{
                    "group.id": f"{group_id}-reader",  # asked for by the library; nothing joins it
                    "client.id": f"{group_id}-reader",
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "auto.offset.reset": "earliest",
                    "fetch.wait.max.ms": 100,
                }
            ),
            logger=log,
        )

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """First offset that is kept, and the one after the last."""
        place, reason = TopicPartition(topic, partition), "no answer"
        for _ in range(_ATTEMPTS):
            try:
                found = self._consumer.get_watermark_offsets(place, timeout=self._timeout_s, cached=False)
            except KafkaException as error:
                reason = error.args[0].name()
                if error.args[0].code() not in _PASSING:
                    break
                self._consumer.poll(_POLL_S)  # news of the leader come while one waits
                continue
            if found is not None:
                return found[0], found[1]
        raise BrokerUnreachableError(
            f"Kafka did not say what {topic} holds ({reason}); restart when the broker is well again"
        )

    def messages(self, topic: str, partition: int, start: int, end: int) -> Iterator[Message]:
        """Messages at offsets ``[start, end)``."""
        if start >= end:
            return
        self._consumer.assign([TopicPartition(topic, partition, start)])
        silent = 0
        while silent < _SILENT_POLLS:
            message = self._consumer.poll(_POLL_S)
            error = None if message is None else message.error()
            if message is None or (error is not None and error.code() != KafkaError._PARTITION_EOF):  # noqa: SLF001 - librdkafka's own code
                silent += 1
                continue
            if error is not None or (message.offset() or 0) >= end:
                return
            silent = 0
            yield message
            if message.offset() == end - 1:
                return
        raise BrokerUnreachableError(f"Kafka did not give what {topic} holds; restart when the broker is well again")

    def close(self) -> None:
        """Leave the broker."""
        self._consumer.close()
