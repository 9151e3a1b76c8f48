"""The events of one run, read again from their partition. Joins no group and commits nothing."""

from collections.abc import Iterator
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tachograph.processors.core import Incoming
from tachograph.processors.digests import digest
from tachograph.processors.errors import BrokerUnreachableError
from tachograph.schemas.errors import WireError
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import EVENTS
from tachograph.schemas.wire import Codec

_POLL_S: Final = 1.0
_SILENT_POLLS: Final = 30


def run_events(settings: Settings, *, partition: int, trace_id: str, run_id: str, since_us: int) -> list[Incoming]:
    """Records of a run from its start on; empty if Kafka holds them no longer."""
    consumer = Consumer(
        settings.kafka.client(
            **{
                "group.id": "tachograph-replay-reader",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )
    )
    codec, found = Codec(), []
    try:
        for message in _messages(consumer, partition, since_us // 1000, settings.kafka.request_timeout_ms / 1000):
            if message.key() != trace_id.encode():
                continue
            try:
                name, record = codec.decode(message.value())
            except WireError:
                continue  # the worker has dead-lettered it
            if record.get("run_id") != run_id:
                continue
            at = message.timestamp()[1] * 1000
            found.append(Incoming(name, record, partition, message.offset() or 0, at, digest(message.value() or b"")))
            if name == "RunEnded":
                break
    except KafkaException as error:
        raise BrokerUnreachableError(
            f"Kafka did not give the run's events ({error.args[0].name()}); try again when the broker is well"
        ) from None
    finally:
        consumer.close()
    return found if found and found[0].record["seq"] == 0 else []


def _messages(consumer: Consumer, partition: int, since_ms: int, timeout_s: float) -> Iterator[Message]:
    wanted = TopicPartition(EVENTS.name, partition, max(0, since_ms))
    [start] = consumer.offsets_for_times([wanted], timeout=timeout_s)
    if start.offset < 0:
        return
    consumer.assign([start])
    silent = 0
    while silent < _SILENT_POLLS:
        message: Any = consumer.poll(_POLL_S)
        if message is None:
            silent += 1
            continue
        error = message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's own code
                return
            raise KafkaException(error)
        silent = 0
        yield message
