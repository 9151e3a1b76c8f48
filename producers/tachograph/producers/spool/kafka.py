"""The real transport: one idempotent, gapless producer of confluent-kafka, and a reader for uncertain tails."""

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from tachograph.producers.publishing import Message
from tachograph.producers.spool.complaints import Seldom
from tachograph.producers.spool.identity import SPOOL_HEADER, SpoolCoordinates
from tachograph.producers.spool.transport import Fate, Found, Place, Report, TopicUnavailable, TransportUnavailable

if TYPE_CHECKING:
    from tachograph.schemas.settings import KafkaSettings

_LOGGER: Final = logging.getLogger("tachograph.spool.kafka")
_LOGGER.addFilter(Seldom())
_OVERHEAD: Final = 2048
"""Room for the batch's own bytes and our header above the largest message that ``publish`` takes."""
_QUEUE_KIB: Final = 64 * 1024
_REFUSALS: Final = frozenset(
    {
        "MSG_SIZE_TOO_LARGE",
        "INVALID_RECORD",
        "INVALID_MSG_SIZE",
        "INVALID_TIMESTAMP",
        "RECORD_LIST_TOO_LARGE",
        "TOPIC_EXCEPTION",
        "UNSUPPORTED_FOR_MESSAGE_FORMAT",
        "POLICY_VIOLATION",
    }
)
"""Errors that are about the message. All others are about the world, and the message is tried again."""
_READ: Final = 500
_POLL_S: Final = 0.05
_PURGE_S: Final = 1.0


class KafkaTransport:
    """A producer that never reorders, never leaves a gap and never gives up by itself."""

    def __init__(self, kafka: "KafkaSettings", *, max_message_bytes: int) -> None:
        try:
            import confluent_kafka  # noqa: PLC0415 - 60 ms that the agent's start does not pay

            self._kafka = kafka
            self._client = confluent_kafka
            settings: dict[str, str | float | bool] = {
                "enable.idempotence": True,
                "enable.gapless.guarantee": True,
                "acks": "all",
                "compression.type": "zstd",
                "partitioner": "murmur2_random",
                "linger.ms": 5,
                "message.timeout.ms": 0,
                "message.max.bytes": max_message_bytes + _OVERHEAD,
                "queue.buffering.max.kbytes": _QUEUE_KIB,
            }
            self._producer: Any = confluent_kafka.Producer(kafka.client(**settings), logger=_LOGGER)
        except (ImportError, ValueError) as error:
            raise TransportUnavailable(f"the Kafka client cannot be made ({type(error).__name__})") from None
        except confluent_kafka.KafkaException as error:
            raise TransportUnavailable(f"the Kafka client refuses its settings ({error.args[0].name()})") from None
        self._reports: list[Report] = []

    def send(self, message: Message, spool: bytes, place: Place, token: object) -> bool:
        """Queue a message, named by its place."""
        headers = [*message.headers, (SPOOL_HEADER, SpoolCoordinates(spool, *place).to_bytes())]

        def delivered(error: Any, sent: Any) -> None:
            self._reports.append(
                Report(token, Fate.DELIVERED, sent.partition(), sent.offset())
                if error is None
                else _failure(token, error)
            )

        try:
            self._producer.produce(message.topic, message.value, message.key, on_delivery=delivered, headers=headers)
        except BufferError:
            return False
        except self._client.KafkaException as error:
            self._reports.append(_failure(token, error.args[0]))
        return True

    def poll(self, timeout: float) -> list[Report]:
        """Reports that have come in."""
        try:
            self._producer.poll(0 if self._reports else timeout)
        except self._client.KafkaException:
            # Fatal for the producer, as any refusal is under the gapless guarantee. The reports are behind it.
            self._producer.purge()
            self._producer.flush(_PURGE_S)
        reports, self._reports = self._reports, []
        return reports

    def ends(self, topic: str) -> Mapping[int, int]:
        """Ask for the end of each partition."""
        consumer = self._consumer()
        try:
            return {partition: end for partition, (_, end) in self._watermarks(consumer, topic).items()}
        except self._client.KafkaException as error:
            raise TransportUnavailable(_sentence(topic, error)) from None
        finally:
            consumer.close()

    def find(self, topic: str, floors: Mapping[bytes, Mapping[int, int]], stop: Callable[[], bool]) -> Found:
        """Read back."""
        consumer = self._consumer()
        try:
            return self._find(consumer, topic, floors, stop)
        except self._client.KafkaException as error:
            raise TransportUnavailable(_sentence(topic, error)) from None
        finally:
            consumer.close()

    def close(self) -> None:
        """Drop what is queued or under way, so that the client's destructor has nothing to wait for."""
        self._producer.purge()
        self._producer.poll(0)
        self._reports.clear()

    def _find(
        self, consumer: Any, topic: str, floors: Mapping[bytes, Mapping[int, int]], stop: Callable[[], bool]
    ) -> Found:
        starts, ends = _ranges(self._watermarks(consumer, topic), floors)
        consumer.assign([self._client.TopicPartition(topic, partition, start) for partition, start in starts.items()])
        found: dict[bytes, dict[Place, tuple[int, int]]] = {spool: {} for spool in floors}
        silence = 0.0
        while ends:
            if stop() or silence > self._kafka.request_timeout_ms / 1000:
                raise TransportUnavailable("the topic could not be read back to its end")
            batch = consumer.consume(_READ, _POLL_S)
            silence = 0.0 if batch else silence + _POLL_S
            for message in batch:
                partition, offset = message.partition(), message.offset()
                if message.error() is None:
                    origin = _coordinates(message.headers())
                    if origin is not None and origin.spool in found:
                        found[origin.spool][origin.segment, origin.frame] = (partition, offset)
                    at_end = offset + 1 >= ends.get(partition, 0)
                else:
                    at_end = message.error().name() == "_PARTITION_EOF"
                if at_end:
                    ends.pop(partition, None)
        return found

    def _consumer(self) -> Any:
        settings: dict[str, str | float | bool] = {
            "group.id": "tachograph-spool",  # required by the client; never joined
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_uncommitted",
        }
        return self._client.Consumer(self._kafka.client(**settings), logger=_LOGGER)

    def _watermarks(self, consumer: Any, topic: str) -> dict[int, tuple[int, int]]:
        seconds = self._kafka.request_timeout_ms / 1000
        listed = consumer.list_topics(topic, timeout=seconds).topics[topic]
        if listed.error is not None or not listed.partitions:
            name = listed.error.name() if listed.error is not None else "no partitions"
            raise TopicUnavailable(
                f"topic {topic} is not usable ({name}); `tachograph topics apply` creates what is missing"
            )
        marks = {}
        for partition in listed.partitions:
            place = self._client.TopicPartition(topic, partition)
            answer = consumer.get_watermark_offsets(place, timeout=seconds)
            if answer is None:
                raise TransportUnavailable(f"partition {partition} of topic {topic} did not answer")
            marks[partition] = answer
        return marks


def _ranges(
    watermarks: Mapping[int, tuple[int, int]], floors: Mapping[bytes, Mapping[int, int]]
) -> tuple[dict[int, int], dict[int, int]]:
    """Where to begin and where to end reading, for the partitions that have something to read."""
    starts, ends = {}, {}
    for partition, (low, high) in watermarks.items():
        floor = min(known.get(partition, low) for known in floors.values())
        # An end below the floor is another topic of the same name: read all of it.
        start = max(floor, low) if floor <= high else low
        if start < high:
            starts[partition], ends[partition] = start, high
    return starts, ends


def _failure(token: object, error: Any) -> Report:
    name = error.name()
    return Report(token, Fate.REFUSED if name.lstrip("_") in _REFUSALS else Fate.UNKNOWN, reason=name)


def _coordinates(headers: Any) -> SpoolCoordinates | None:
    for name, value in headers or ():
        if name == SPOOL_HEADER and value is not None:
            try:
                return SpoolCoordinates.from_bytes(value)
            except ValueError:
                return None
    return None


def _sentence(topic: str, error: Any) -> str:
    return f"topic {topic} cannot be asked about ({error.args[0].name()})"
