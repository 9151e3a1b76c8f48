"""What alerting could not deliver goes where everything undelivered goes, with the original bytes."""

from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tachograph.schemas.headers import Header
from tachograph.schemas.settings import KafkaSettings
from tachograph.sinks.clickhouse.dead_letters import PlacedMessage, error_headers
from tachograph.sinks.errors import BrokerTroubleError, SinkError

COMPONENT: Final = "tachograph.sinks.alerts"
DELIVERY_TIMEOUT_S: Final = 60


class NotDeliveredError(SinkError):
    """A receiver did not take an alert, for as long as it was asked, or for good. It is a dead letter."""


def undelivered_headers(message: PlacedMessage, stage: str, error: Exception) -> list[tuple[str, bytes]]:
    """Headers of the dead letter.

    Without source coordinates: alerts are given up in any order, and out of order they would look like repeats.
    """
    return [
        (name, value) for name, value in error_headers(message, stage, error, COMPONENT) if name != Header.SOURCE.value
    ]


class DeadLetters:
    """Writes dead letters, and knows when the broker has them."""

    def __init__(self, kafka: KafkaSettings, topic: str) -> None:
        self._topic = topic
        self._failed: KafkaError | None = None
        self._producer = Producer(
            kafka.client(
                **{
                    "client.id": "tachograph-alerts",
                    "enable.idempotence": True,
                    "message.timeout.ms": DELIVERY_TIMEOUT_S * 1000,
                    "message.max.bytes": 64 * 1024 * 1024,
                }
            )
        )

    def put(self, message: Message, stage: str, error: Exception) -> None:
        """Write one and wait for the broker. Raises BrokerTroubleError if it does not take it."""
        headers: Any = undelivered_headers(message, stage, error)
        try:
            self._producer.produce(
                self._topic, value=message.value(), key=message.key(), headers=headers, on_delivery=self._done
            )
            left = self._producer.flush(DELIVERY_TIMEOUT_S + 5)
        except (KafkaException, BufferError) as refused:
            raise BrokerTroubleError(f"Kafka did not take a dead letter ({type(refused).__name__})") from None
        failed, self._failed = self._failed, None
        if failed is not None or left:
            reason = failed.name() if failed is not None else "no answer"
            raise BrokerTroubleError(f"Kafka did not take a dead letter ({reason})")

    def _done(self, error: KafkaError | None, _message: Message) -> None:
        self._failed = self._failed or error
