"""Follows the violation topics without being noticed: no group is joined, nothing is committed."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tachograph.schemas.enums import Severity
from tachograph.schemas.errors import TachographError, WireError
from tachograph.schemas.settings import KafkaSettings
from tachograph.schemas.wire import Codec
from tachograph.schemas.wire.registry import SchemaRegistry

POLL_S: Final = 0.25
"""Longest wait for a message: the delay with which Ctrl-C is noticed."""

_SCHEMA: Final = "rows.violations"
_RANK: Final = {severity.value: rank for rank, severity in enumerate(Severity)}
_AFTER_ALL: Final = len(_RANK)


class TailError(TachographError):
    """The violation topics cannot be read. Start the broker, correct its address or create the topics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which violations to show."""

    severity: Severity = Severity.INFO
    """This one or worse."""
    agent: str = ""
    """Only of this agent; empty: of any."""

    def matches(self, row: dict[str, Any]) -> bool:
        """Whether a violation is to be shown. A severity that is not ours is shown: it may be a newer, worse one."""
        worst_first = _RANK.get(row["severity"], _AFTER_ALL)
        return worst_first >= _RANK[self.severity] and self.agent in ("", row["agent_id"])


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    """A violation with its time as RFC 3339."""
    at = datetime.fromtimestamp(row["occurred_at"] / 1_000_000, UTC)
    return row | {"occurred_at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z")}


class Tail:
    """Violations of some topics, from a moment on, as they come. A context manager: close it."""

    def __init__(
        self,
        kafka: KafkaSettings,
        topics: Sequence[str],
        *,
        since: datetime | None = None,
        registry: SchemaRegistry | None = None,
    ) -> None:
        self._kafka = kafka
        self._patience_s = kafka.request_timeout_ms / 1000
        self._codec = Codec(registry=registry)
        self.unreadable = 0
        """Messages passed over because they are not violations."""
        self._consumer = Consumer(
            kafka.client(
                **{
                    # librdkafka wants a name; partitions that are assigned by hand belong to no group.
                    "group.id": "tachograph-violations-tail",
                    "client.id": "tachograph-violations-tail",
                    "enable.auto.commit": False,
                    "auto.offset.reset": "earliest",
                    "fetch.wait.max.ms": 100,
                    "log_level": 0,
                }
            )
        )
        try:
            self._consumer.assign(self._starts(topics, since))
        except KafkaException as error:
            self._consumer.close()
            raise TailError(
                f"Kafka at {kafka.address} did not answer ({error.args[0].name()}); start it (tachograph up) "
                "or set TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS"
            ) from None
        except TailError:
            self._consumer.close()
            raise

    def rows(self) -> Iterator[dict[str, Any] | None]:
        """Violations in the order in which they arrive; None whenever a moment passed without one."""
        while True:
            message = self._consumer.poll(POLL_S)
            if message is None:
                yield None
                continue
            error = message.error()
            if error is not None:
                self._heed(error)
                continue
            row = self._decoded(message)
            if row is not None:
                yield row

    def _decoded(self, message: Message) -> dict[str, Any] | None:
        try:
            return self._codec.decode_as(_SCHEMA, message.value() or b"")
        except WireError:
            self.unreadable += 1
            return None

    def _heed(self, error: KafkaError) -> None:
        # librdkafka joins again by itself after everything but these.
        if error.fatal() or error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise TailError(
                f"the violation topics can no longer be read ({error.name()}); run: tachograph topics apply"
            )

    def _starts(self, topics: Sequence[str], since: datetime | None) -> list[TopicPartition]:
        found = self._consumer.list_topics(timeout=self._patience_s).topics
        missing = [topic for topic in topics if topic not in found]
        if missing:
            raise TailError(f"Kafka at {self._kafka.address} has no topic {missing[0]}; run: tachograph topics apply")
        places = [TopicPartition(topic, partition) for topic in topics for partition in found[topic].partitions]
        asked = {(place.topic, place.partition): -1 for place in places}
        if since is not None:
            millis = int(since.timestamp() * 1000)
            at = self._consumer.offsets_for_times(
                [TopicPartition(*place, millis) for place in asked], timeout=self._patience_s
            )
            asked = {(place.topic, place.partition): place.offset for place in at}
        # The ends as they are now, and not "the end" whenever the first fetch happens: nothing may fall in between.
        return [
            TopicPartition(topic, partition, offset if offset >= 0 else self._end(topic, partition))
            for (topic, partition), offset in asked.items()
        ]

    def _end(self, topic: str, partition: int) -> int:
        ends: Any = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=self._patience_s)
        return int(ends[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._consumer.close()


def moment(text: str, now: float | None = None) -> datetime:
    """A time from ``15m``, ``2h``, ``7d``, ``30s`` ago, or an RFC 3339 time. Raises ValueError if it is neither."""
    unit = {"s": 1, "m": 60, "h": 3600, "d": 86_400}.get(text[-1:])
    if unit is not None and text[:-1].isdecimal():
        ago = int(text[:-1]) * unit
        return datetime.fromtimestamp(max(0.0, (time.time() if now is None else now) - ago), UTC)
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("a time needs a zone")
    return at
