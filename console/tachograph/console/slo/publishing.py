"""The topic of objectives: transitions are written to it, and it is what an evaluator remembers by."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tachograph.console.slo.alerting import Transition, violation_row
from tachograph.schemas.errors import TachographError, WireError
from tachograph.schemas.headers import CONTENT_TYPE_AVRO, Header
from tachograph.schemas.settings import KafkaSettings
from tachograph.schemas.wire import Codec

_ROW: Final = "rows.violations"
DELIVERY_TIMEOUT_S: Final = 30


class TopicUnavailableError(TachographError):
    """Kafka did not answer, or has no such topic. Retry, from what the topic says by then."""


class Transitions:
    """Writes transitions to the topic, and reads back all that it holds."""

    def __init__(self, kafka: KafkaSettings, topic: str, codec: Codec) -> None:
        self._kafka = kafka
        self._topic = topic
        self._codec = codec
        self._timeout_s = kafka.request_timeout_ms / 1000
        self._failed: KafkaError | None = None
        self._producer = Producer(
            kafka.client(
                **{
                    "client.id": "tachograph-slo",
                    "enable.idempotence": True,
                    "message.timeout.ms": DELIVERY_TIMEOUT_S * 1000,
                    "partitioner": "murmur2_random",
                }
            )
        )

    def publish(self, changes: Sequence[Transition]) -> None:
        """Write all and wait for the broker. Raises TopicUnavailableError if it does not have all of them."""
        for change in changes:
            headers: Any = [
                (Header.CONTENT_TYPE.value, CONTENT_TYPE_AVRO),
                (Header.CE_SOURCE.value, f"/tenants/{change.key.tenant_id}/agents/".encode()),
            ]
            self._producer.produce(
                self._topic,
                key=f"{change.key.tenant_id}|{change.key.slo}".encode(),
                value=self._codec.encode(_ROW, violation_row(change)),
                headers=headers,
                on_delivery=self._delivered,
            )
        left = self._producer.flush(DELIVERY_TIMEOUT_S + 5)
        failed, self._failed = self._failed, None
        if left or failed is not None:
            reason = failed.name() if failed is not None else "no answer"
            raise TopicUnavailableError(f"Kafka did not take all transitions ({reason})")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every row that the topic holds now. What is no row of ours is passed over."""
        consumer = Consumer(self._kafka.client(**{"group.id": "tachograph-slo-memory", "enable.auto.commit": False}))
        try:
            yield from self._read(consumer)
        except KafkaException as error:
            raise TopicUnavailableError(f"Kafka did not say what was published ({error.args[0].name()})") from None
        finally:
            consumer.close()

    def _read(self, consumer: Consumer) -> Iterator[dict[str, Any]]:
        known = consumer.list_topics(self._topic, timeout=self._timeout_s).topics[self._topic]
        if known.error is not None:
            raise TopicUnavailableError(f"Kafka has no topic {self._topic}. Run `tachograph topics apply`.")
        ends: dict[int, int] = {}
        for number in known.partitions:
            low, high = consumer.get_watermark_offsets(TopicPartition(self._topic, number), timeout=self._timeout_s)
            if high > low:
                ends[number] = high
                consumer.incremental_assign([TopicPartition(self._topic, number, low)])
        until = time.monotonic() + DELIVERY_TIMEOUT_S
        while ends:
            for message in consumer.consume(500, 0.5):
                if message.error() is not None:
                    continue
                yield from self._row(message)
                number = message.partition() or 0
                if (message.offset() or 0) + 1 >= ends.get(number, 0):
                    ends.pop(number, None)
                until = time.monotonic() + DELIVERY_TIMEOUT_S
            if time.monotonic() > until:
                raise TopicUnavailableError("Kafka did not hand out what was published")

    def _row(self, message: Message) -> Iterator[dict[str, Any]]:
        try:
            yield self._codec.decode_as(_ROW, message.value())
        except WireError:
            return

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        self._failed = self._failed or error
