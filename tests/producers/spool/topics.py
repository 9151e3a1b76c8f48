"""Topics of a test's own on the real broker."""

import secrets
from collections.abc import Mapping

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tachograph.schemas.settings import KafkaSettings

PARTITIONS = 4


def create_topic(kafka: KafkaSettings, name: str | None = None, **config: str) -> str:
    chosen = name or f"spool-test-{secrets.token_hex(6)}"
    topic = NewTopic(chosen, num_partitions=PARTITIONS, replication_factor=1, config=config)
    admin = AdminClient(kafka.client())  # must outlive its answer
    admin.create_topics([topic])[chosen].result(timeout=30)
    return chosen


def read_topic(kafka: KafkaSettings, topic: str) -> Mapping[bytes, list[bytes]]:
    """Values by key, in the order of the log, of everything that is there now."""
    found: dict[bytes, list[bytes]] = {}
    consumer = Consumer(kafka.client(**{"group.id": "test-reader", "enable.partition.eof": True}))
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        unread = PARTITIONS
        while unread:
            for message in consumer.consume(1000, 0.2):
                error = message.error()
                if error is not None:
                    assert error.name() == "_PARTITION_EOF", error
                    unread -= 1
                    continue
                key, value = message.key(), message.value()
                assert isinstance(key, bytes)
                assert isinstance(value, bytes)
                found.setdefault(key, []).append(value)
    finally:
        consumer.close()
    return found
