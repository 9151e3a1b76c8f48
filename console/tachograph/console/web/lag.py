"""How far each consumer group of the pipeline is behind, as the broker knows it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tachograph.schemas.settings import Settings


@dataclass(frozen=True, slots=True)
class GroupLag:
    """One group."""

    name: str
    group_id: str
    waiting: int | None
    """Messages that it has not committed; None if it never committed any."""
    topics: int
    state: str


class BrokerAwayError(Exception):
    """The broker does not answer."""


def group_lags(settings: Settings) -> list[GroupLag]:
    """Every group that the pipeline has. Raises BrokerAwayError."""
    groups = {
        "worker": settings.worker.app_id,
        "sink": settings.sink.group_id,
        "snapshots": settings.snapshots.group_id,
        "evaluators": settings.evaluate.group_id,
        "sealer": settings.sealer.group_id,
        "alerts": settings.alerts.group_id,
        "objectives": settings.slo.group_id,
    }
    within_s = settings.kafka.request_timeout_ms / 1000
    admin = AdminClient(settings.kafka.client(log_level=0))
    try:
        with ThreadPoolExecutor(len(groups)) as pool:
            return list(pool.map(lambda name: _lag(admin, name, groups[name], within_s), groups))
    except KafkaException:
        raise BrokerAwayError from None


def _lag(admin: AdminClient, name: str, group_id: str, within_s: float) -> GroupLag:
    described: Any = admin.describe_consumer_groups([group_id], request_timeout=within_s)[group_id]
    try:
        state = described.result().state.name.lower()
    except KafkaException:
        state = "unknown"
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group_id)], request_timeout=within_s)
    committed = [place for place in asked[group_id].result().topic_partitions or [] if place.offset >= 0]
    if not committed:
        return GroupLag(name, group_id, None, 0, state)
    latest: Any = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    ends = admin.list_offsets(
        {TopicPartition(place.topic, place.partition): latest for place in committed}, request_timeout=within_s
    )
    at = {(place.topic, place.partition): found.result().offset for place, found in ends.items()}
    waiting = sum(max(0, at[place.topic, place.partition] - place.offset) for place in committed)
    return GroupLag(name, group_id, waiting, len({place.topic for place in committed}), state)
