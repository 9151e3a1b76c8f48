"""One evaluator at a time: a consumer group on the topic of objectives is the lock.

Whoever is given partition 0 evaluates, all others wait. A process that slept through the loss of its partition is told
so by the broker when it asks: a commit of an older generation of the group is refused.
"""

import logging
from typing import Any, Final, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tachograph.console.slo.publishing import TopicUnavailableError
from tachograph.schemas.group_status import GroupStatus
from tachograph.schemas.settings import Settings

_log = logging.getLogger(__name__)

POLL_S: Final = 0.1
_REBALANCED: Final = frozenset(
    {KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID, KafkaError.REBALANCE_IN_PROGRESS}
)


class Lock:
    """Membership of the group. Asking keeps it alive."""

    def __init__(self, settings: Settings, topic: str, status: GroupStatus) -> None:
        slo = settings.slo
        session_ms = int(slo.session_timeout_s * 1000)
        configuration: dict[str, Any] = settings.kafka.client(
            **{
                "group.id": slo.group_id,
                "client.id": "tachograph-slo",
                "enable.auto.commit": False,
                "auto.offset.reset": "latest",
                "session.timeout.ms": session_ms,
                "heartbeat.interval.ms": max(session_ms // 4, 100),
                "partition.assignment.strategy": "range",
            }
        )
        self._consumer = Consumer(configuration | status.client())
        self._place = TopicPartition(topic, 0)
        self._timeout_s = settings.kafka.request_timeout_ms / 1000
        self._mine = False

    def __enter__(self) -> Self:
        self._consumer.subscribe([self._place.topic], on_assign=self._given, on_revoke=self._taken, on_lost=self._taken)
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def held(self) -> bool:
        """Whether we are the one, as far as we were told. Takes a moment, in which the group is heard."""
        try:
            # What the topic says is of no interest here; being a member is.
            self._consumer.consume(500, POLL_S)
        except KafkaException:
            return False
        return self._mine

    def confirmed(self, moment: int) -> bool:
        """Whether the broker, too, says that we are the one. Leaves the moment beside the offset, for whoever looks.

        Raises TopicUnavailableError if it says nothing.
        """
        try:
            _, end = self._consumer.get_watermark_offsets(self._place, timeout=self._timeout_s)
            claim = TopicPartition(self._place.topic, 0, end, f'{{"evaluated":{moment}}}')
            answers = self._consumer.commit(offsets=[claim], asynchronous=False) or []
            error = next((answer.error for answer in answers if answer.error is not None), None)
        except KafkaException as failed:
            error = failed.args[0]
        if error is None:
            return True
        if error.code() in _REBALANCED:
            _log.warning("another evaluator has taken over; saying nothing")
            return False
        raise TopicUnavailableError(f"Kafka did not say who evaluates ({error.name()})")

    def _given(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._mine = any(partition.partition == 0 for partition in partitions)
        _log.info("evaluating" if self._mine else "another evaluator is at work; waiting")

    def _taken(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self._mine = False
