"""What must be true of the broker before the worker starts, each with its own sentence if it is not."""

import logging
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from tachograph.processors.errors import BrokerUnreachableError, TopicsError
from tachograph.processors.names import TopicNames
from tachograph.schemas.settings import Settings

log = logging.getLogger(__name__)

_CHANGELOG_CONFIG: Final = {
    "cleanup.policy": "compact",
    # A recovery reads the whole changelog. Small segments and an early cleaner keep it close to one entry per run.
    "segment.bytes": str(16 * 1024 * 1024),
    "segment.ms": str(600_000),
    "min.cleanable.dirty.ratio": "0.2",
    "delete.retention.ms": str(3_600_000),
    "compression.type": "producer",
}


def prepare(settings: Settings, names: TopicNames, changelog: str) -> int:
    """Check the topics, create the changelog if it is not there, and return the number of partitions."""
    admin = AdminClient(settings.kafka.client(**{"socket.timeout.ms": settings.kafka.request_timeout_ms}), logger=log)
    partitions = _partitions(admin, settings)
    count = partitions.get(names.events)
    if count is None:
        raise TopicsError(f"the topic {names.events} does not exist; run: tachograph topics apply")
    missing = [name for name in names.outputs if name not in partitions]
    if missing:
        raise TopicsError(f"{_listed(missing)} missing; run: tachograph topics apply")
    uneven = [name for name in names.outputs if partitions[name] != count]
    if changelog in partitions and partitions[changelog] != count:
        uneven.append(changelog)
    if uneven:
        raise TopicsError(
            f"{names.events} has {count} partitions, but not so {_listed(uneven)}: input partition p is written to "
            "output partition p, so give all topics the same count"
        )
    if changelog not in partitions:
        _create(admin, settings, changelog, count)
    return count


def _partitions(admin: AdminClient, settings: Settings) -> dict[str, int]:
    try:
        found = admin.list_topics(timeout=settings.kafka.request_timeout_ms / 1000)
    except KafkaException as error:
        raise BrokerUnreachableError(
            f"no Kafka broker answered at {settings.kafka.address} within "
            f"{settings.kafka.request_timeout_ms / 1000:g} s ({_reason(error)}); start it (tachograph up) or set "
            "TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS"
        ) from None
    return {name: len(topic.partitions) for name, topic in found.topics.items()}


def _create(admin: AdminClient, settings: Settings, changelog: str, count: int) -> None:
    topic = NewTopic(
        changelog,
        num_partitions=count,
        replication_factor=settings.kafka.replication_factor,
        config=dict(_CHANGELOG_CONFIG),
    )
    try:
        admin.create_topics([topic])[changelog].result(settings.kafka.request_timeout_ms / 1000)
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return  # another worker was faster
        raise TopicsError(f"the changelog {changelog} could not be created ({_reason(error)})") from None


def _reason(error: KafkaException) -> str:
    return str(error.args[0].name())


def _listed(names: list[str]) -> str:
    return f"the topic {names[0]} is" if len(names) == 1 else f"the topics {', '.join(names)} are"
