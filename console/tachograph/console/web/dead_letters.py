"""Dead letters: reading one back from its topic, and sending it where it came from."""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tachograph.schemas.errors import TachographError
from tachograph.schemas.headers import Header
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import BY_NAME, DLQ

WITHIN_S: Final = 10.0
_WRITTEN_HERE: Final = frozenset(
    {Header.SOURCE.value, Header.ERROR_TIMESTAMP.value}
    | {header.value for header in Header if header.value.startswith("__connect.errors.")}
)
"""Headers that giving up added. The original message had none of them, or they were taken off."""


class LetterGoneError(TachographError):
    """The dead letter cannot be read back or sent. The sentence says why."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter as the topic holds it."""

    key: bytes | None
    value: bytes
    headers: list[tuple[str, bytes]]


def read_letter(settings: Settings, row: Any) -> Letter:
    """The message behind a row of ``dead_letters``, checked against the row's hash."""
    consumer = Consumer(
        settings.kafka.client(
            **{
                "group.id": "tachograph-console",
                "enable.auto.commit": False,
                "log_level": 0,
                "isolation.level": "read_uncommitted",
            }
        )
    )
    try:
        consumer.assign([TopicPartition(DLQ.name, row["_partition"], row["_offset"])])
        message = consumer.poll(WITHIN_S)
    except KafkaException:
        message = None
    finally:
        consumer.close()
    if message is None or message.error() is not None or message.offset() != row["_offset"]:
        raise LetterGoneError(
            "The dead-letter topic does not hold this message any more (it keeps 30 days), or Kafka does not answer."
        )
    value = message.value() or b""
    if hashlib.sha256(value).hexdigest() != row["value_sha256"]:
        raise LetterGoneError("The topic holds other bytes at that place than the row says: do not send them.")
    found: Any = message.headers() or []
    return Letter(message.key(), value, [(name, bytes(held or b"")) for name, held in found])


def send_back(settings: Settings, row: Any, letter: Letter) -> None:
    """The original bytes, key and headers, to the topic and partition that they were read from."""
    topic = row["source_topic"]
    if topic not in BY_NAME or topic == DLQ.name:
        # The row's topic comes from a header, which a foreign writer may have written.
        raise LetterGoneError("This message did not come from a topic of the pipeline, so it is not sent anywhere.")
    delivered: list[Any] = []
    producer = Producer(
        settings.kafka.client(
            **{"enable.idempotence": True, "message.timeout.ms": int(WITHIN_S * 1000), "log_level": 0}
        )
    )
    try:
        producer.produce(
            topic,
            letter.value,
            letter.key,
            partition=row["source_partition"],
            headers=[(name, value) for name, value in letter.headers if name not in _WRITTEN_HERE],
            on_delivery=lambda error, _message: delivered.append(error),
        )
        producer.flush(WITHIN_S)
    except (KafkaException, BufferError) as error:
        delivered = [error]
    if not delivered or delivered[0] is not None:  # see KafkaViewLog
        raise LetterGoneError("Kafka did not take the message. Nothing was sent; try again.")
