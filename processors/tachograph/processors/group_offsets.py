"""Where a consumer group stands, asked by a consumer that never joins it.

Not by the admin client: librdkafka's ``ListConsumerGroupOffsets`` ends the whole process with a segmentation fault when
the broker answers that it is not, or not yet, the group's coordinator, as a broker does that has just started or made
its offsets topic (librdkafka 2.16, its issue 5040: the answer is handled as if the client had a group of its own).
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from confluent_kafka import Consumer, TopicPartition

__all__ = ["committed_offsets"]

log = logging.getLogger(__name__)

_NOTHING: Final = 0
"""Offsets below it are librdkafka's words for "nothing committed"."""


def committed_offsets(
    client: Mapping[str, Any], group: str, topics: Iterable[str], timeout_s: float
) -> dict[tuple[str, int], int]:
    """Offsets that a group has committed, by topic and partition. Raises KafkaException."""
    consumer = Consumer({**client, "group.id": group, "enable.auto.commit": False}, logger=log)
    try:
        places = [
            TopicPartition(topic, partition)
            for topic in topics
            for partition in consumer.list_topics(topic, timeout_s).topics[topic].partitions
        ]
        found = consumer.committed(places, timeout_s) if places else []
    finally:
        consumer.close()
    return {
        (place.topic, place.partition): place.offset
        for place in found
        if place.offset is not None and place.offset >= _NOTHING
    }
