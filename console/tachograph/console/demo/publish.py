"""Sends records to the events topic as any producer would: Avro, keyed by trace, acknowledged by the broker."""

from collections.abc import Iterable
from typing import Any, Final

from confluent_kafka import KafkaError, Message, Producer

from tachograph.schemas.errors import TachographError
from tachograph.schemas.headers import CONTENT_TYPE_AVRO, Header
from tachograph.schemas.models import Record
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import EVENTS
from tachograph.schemas.wire import Codec, to_avro

FLUSH_S = 30.0

_CLIENT: Final[dict[str, Any]] = {
    "enable.idempotence": True,
    "acks": "all",
    "compression.type": "zstd",
    # What Java and aiokafka use; librdkafka's default would put a run elsewhere.
    "partitioner": "murmur2_random",
    "linger.ms": 5,
    "message.timeout.ms": FLUSH_S * 1000,
    "log_level": 0,
}


class NotPublishedError(TachographError):
    """The broker did not acknowledge every record."""


def publish(settings: Settings, records: Iterable[Record], *, topic: str = EVENTS.name) -> int:
    """Publish all, wait for the broker, and return how many there were."""
    producer = Producer(settings.kafka.client(**_CLIENT))
    codec, failed, sent = Codec(), [], 0

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failed.append(error.name())

    for record in records:
        name = type(record).__name__
        producer.produce(
            topic,
            key=(record.trace_id or "").encode(),
            value=codec.encode(name, to_avro(record)),
            headers={
                Header.CONTENT_TYPE.value: CONTENT_TYPE_AVRO,
                Header.CE_SPECVERSION.value: b"1.0",
                Header.CE_ID.value: record.event_id.encode(),
                Header.CE_TYPE.value: f"tachograph.{name}.v1".encode(),
            },
            on_delivery=on_delivery,
        )
        sent += 1
        producer.poll(0)
    left = producer.flush(FLUSH_S)
    if left or failed:
        raise NotPublishedError(
            f"{left + len(failed)} of {sent} records were not acknowledged by Kafka at "
            f"{settings.kafka.bootstrap_servers}: is it running? (`tachograph status`)"
        )
    return sent
