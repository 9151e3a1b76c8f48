"""Makes the broker's topics what the contract says. Run again, it changes only what differs."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tachograph.deploy.errors import BrokerUnreachable, TopicConflict
from tachograph.schemas.settings import KafkaSettings
from tachograph.schemas.topics import TOPICS, Topic

_QUIET: Final = {"log_level": 0}
"""librdkafka prints every failed connection to stderr; our own sentence says it once."""

_KNOWN_WITHIN_S: Final = 30.0
_TICK: Final = threading.Event()
"""Never set: waiting for it is a pause."""


@dataclass(frozen=True, slots=True)
class TopicChange:
    """What was done, or would be done, to one topic."""

    topic: str
    action: Literal["create", "configure", "keep"]
    config: tuple[tuple[str, str], ...] = ()
    """Settings that are new or differ."""


def plan_topics(kafka: KafkaSettings, topics: Sequence[Topic] = TOPICS) -> list[TopicChange]:
    """Compare the broker with the contract. Raises TopicConflict where only a person can decide."""
    client = AdminClient(kafka.client(**_QUIET))
    partitions = _partitions(client, kafka)
    wrong = {topic.name: partitions[topic.name] for topic in topics if topic.name in partitions}
    wrong = {name: count for name, count in wrong.items() if count != kafka.partitions}
    if wrong:
        raise TopicConflict(wrong, kafka.partitions)
    configs = _configs(client, kafka, [topic.name for topic in topics if topic.name in partitions])
    return [_change(topic, configs.get(topic.name)) for topic in topics]


def apply_topics(kafka: KafkaSettings, topics: Sequence[Topic] = TOPICS) -> list[TopicChange]:
    """Create and configure what :func:`plan_topics` found. Returns once the broker has done it and tells of it."""
    changes = plan_topics(kafka, topics)
    client = AdminClient(kafka.client(**_QUIET))
    new = [
        NewTopic(change.topic, kafka.partitions, kafka.replication_factor, config=dict(change.config))
        for change in changes
        if change.action == "create"
    ]
    if new:
        _settle(client.create_topics(new, operation_timeout=30, request_timeout=60), kafka)
        _wait_until_known(client, kafka, {topic.topic for topic in new})
    altered = [
        ConfigResource(
            ResourceType.TOPIC,
            change.topic,
            incremental_configs=[
                ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in change.config
            ],
        )
        for change in changes
        if change.action == "configure"
    ]
    if altered:
        _settle(client.incremental_alter_configs(altered), kafka)
        _wait_until_configured(kafka, topics)
    return changes


def _change(topic: Topic, found: dict[str, str] | None) -> TopicChange:
    wanted = topic.config()
    if found is None:
        return TopicChange(topic.name, "create", tuple(wanted.items()))
    differs = tuple((name, value) for name, value in wanted.items() if found.get(name) != value)
    return TopicChange(topic.name, "configure" if differs else "keep", differs)


def _partitions(client: AdminClient, kafka: KafkaSettings) -> dict[str, int]:
    try:
        metadata = client.list_topics(timeout=kafka.request_timeout_ms / 1000)
    except KafkaException:
        raise BrokerUnreachable(kafka.address) from None
    return {name: len(topic.partitions) for name, topic in metadata.topics.items()}


def _wait_until_known(client: AdminClient, kafka: KafkaSettings, names: set[str]) -> None:
    """A topic that was created is in the broker's metadata a moment later; whoever starts before that finds none."""
    deadline = time.monotonic() + _KNOWN_WITHIN_S
    while unknown := names - _partitions(client, kafka).keys():
        if time.monotonic() > deadline:
            raise BrokerUnreachable(kafka.address, f"{len(unknown)} new topics did not appear")
        _TICK.wait(0.05)


def _wait_until_configured(kafka: KafkaSettings, topics: Sequence[Topic]) -> None:
    """A changed setting, too, is told a moment after it was made."""
    deadline = time.monotonic() + _KNOWN_WITHIN_S
    while differing := [change.topic for change in plan_topics(kafka, topics) if change.action != "keep"]:
        if time.monotonic() > deadline:
            raise BrokerUnreachable(kafka.address, f"{differing[0]} did not take its settings")
        _TICK.wait(0.05)


def _configs(client: AdminClient, kafka: KafkaSettings, names: Sequence[str]) -> dict[str, dict[str, str]]:
    if not names:
        return {}
    answers = client.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in names])
    found = {}
    for resource, answer in answers.items():
        try:
            found[resource.name] = {name: str(entry.value) for name, entry in answer.result().items()}
        except KafkaException:
            raise BrokerUnreachable(kafka.address) from None
    return found


def _settle(futures: dict[Any, Any], kafka: KafkaSettings) -> None:
    for future in futures.values():
        try:
            future.result()
        except KafkaException as error:
            # Another `up` or init job may have been faster.
            if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
                raise BrokerUnreachable(kafka.address, error.args[0].name()) from None
