"""The sink's way to the dead-letter topic."""

import logging
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tachograph.schemas.settings import KafkaSettings
from tachograph.sinks.clickhouse.dead_letters import error_headers
from tachograph.sinks.errors import BrokerTroubleError, DeadLetterUndeliveredError

_log = logging.getLogger(__name__)

# Long enough for a broker to restart; short enough that the group still counts us in (max.poll.interval is 300 s).
DELIVERY_TIMEOUT_S: Final = 60


class Outbox:
    """Writes dead letters with the original bytes, to the partition they came from.

    Their order there is the order in which the sink met them, which is what makes repeats recognisable.
    """

    def __init__(self, kafka: KafkaSettings, topic: str) -> None:
        self._topic = topic
        self._failed: KafkaError | None = None
        self._producer = Producer(
            kafka.client(
                **{
                    "client.id": "tachograph-sink",
                    "enable.idempotence": True,
                    "compression.type": "zstd",
                    "linger.ms": 5,
                    "message.timeout.ms": DELIVERY_TIMEOUT_S * 1000,
                    # The broker's limit decides, not the client's.
                    "message.max.bytes": 64 * 1024 * 1024,
                }
            ),
            logger=_log,
        )

    def put(self, message: Message, stage: str, error: Exception) -> None:
        """Send a message that was given up at ``stage``. It counts as written after :meth:`flush`."""
        headers: Any = error_headers(message, stage, error)
        while True:
            try:
                self._producer.produce(
                    self._topic,
                    value=message.value(),
                    key=message.key(),
                    partition=message.partition() or 0,
                    headers=headers,
                    on_delivery=self._delivered,
                )
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as refused:
                raise self._undelivered(refused.args[0]) from None
            else:
                return

    def flush(self) -> None:
        """Wait until the broker has all of them. Raises if it does not take one."""
        left = self._producer.flush(DELIVERY_TIMEOUT_S + 5)
        failed, self._failed = self._failed, None
        if failed is not None:
            raise self._undelivered(failed)
        if left:
            raise BrokerTroubleError("Kafka did not take the dead letters in time")

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        self._failed = self._failed or error

    def _undelivered(self, error: KafkaError) -> Exception:
        if error.code() in {KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT, KafkaError._TRANSPORT}:  # noqa: SLF001
            return BrokerTroubleError(f"Kafka did not take the dead letters in time ({error.name()})")
        return DeadLetterUndeliveredError(
            f"{self._topic} did not take a refused row ({error.name()}). It needs as many partitions as the other "
            "topics, and a max.message.bytes some kilobytes above theirs. Nothing is lost: the sink repeats this range."
        )
