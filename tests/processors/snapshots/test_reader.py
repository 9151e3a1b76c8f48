"""Captures are read where a request points, near or far, forwards or back."""

import random
import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tachograph.processors.snapshots.captures import CaptureIndex
from tachograph.processors.snapshots.reader import KafkaCaptures
from tachograph.schemas.settings import Settings

pytestmark = pytest.mark.stack

LENGTH = 200


@pytest.fixture
def captures(servers: Settings) -> Iterator[KafkaCaptures]:
    """Two partitions of numbered values."""
    topic = f"captures-{uuid.uuid4().hex[:8]}"
    admin = AdminClient(servers.kafka.client())
    admin.create_topics([NewTopic(topic, num_partitions=2)])[topic].result()
    producer = Producer(servers.kafka.client())
    for number in range(2 * LENGTH):
        producer.produce(topic, str(number // 2).encode(), partition=number % 2)
    assert producer.flush(30) == 0
    reading = KafkaCaptures(servers, topic, CaptureIndex(10))
    yield reading
    reading.close()
    admin.delete_topics([topic])[topic].result()


def test_any_offsets_in_any_order(captures: KafkaCaptures) -> None:
    """One after the other, again, back, across a gap, in the other partition, several at once."""
    asked = [[0], [1], [1], [2, 3], [199], [5], [70, 69], [140]]
    asked += [random.sample(range(LENGTH), 3) for _ in range(6)]
    for number, offsets in enumerate(asked):
        for partition in (0, 1) if number % 3 == 0 else (number % 2,):
            assert captures.fetch(partition, offsets) == [str(offset).encode() for offset in offsets]


def test_what_is_not_there(captures: KafkaCaptures) -> None:
    """An offset past the end is gone, and the next request is served all the same."""
    assert captures.fetch(0, [LENGTH - 1, LENGTH]) is None
    assert captures.fetch(0, [LENGTH - 1]) == [str(LENGTH - 1).encode()]
