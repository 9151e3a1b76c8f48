"""Topics on a real broker become what the contract says, and stay it."""

import uuid
from dataclasses import replace

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from tachograph.deploy.errors import BrokerUnreachable, TopicConflict
from tachograph.deploy.topics import apply_topics, plan_topics
from tachograph.schemas.settings import KafkaSettings, Settings
from tachograph.schemas.topics import DLQ, EVENTS, Topic

pytestmark = pytest.mark.stack


@pytest.fixture
def topics() -> list[Topic]:
    """Two topics that no other test uses."""
    prefix = f"test-{uuid.uuid4().hex[:8]}."
    return [replace(topic, name=prefix + topic.name) for topic in (EVENTS, DLQ)]


def test_topics_are_created_as_the_contract_says(servers: Settings, topics: list[Topic]) -> None:
    """Partitions, retention, who stamps the time."""
    assert [change.action for change in apply_topics(servers.kafka, topics)] == ["create", "create"]
    client = AdminClient(servers.kafka.client())
    metadata = client.list_topics(timeout=10).topics
    assert [len(metadata[topic.name].partitions) for topic in topics] == [servers.kafka.partitions] * 2
    resource = ConfigResource(ResourceType.TOPIC, topics[0].name)
    (answer,) = client.describe_configs([resource]).values()
    found = {name: entry.value for name, entry in answer.result().items()}
    assert topics[0].config().items() <= found.items()


def test_a_second_time_changes_nothing(servers: Settings, topics: list[Topic]) -> None:
    """Applying is harmless, and the plan says so."""
    apply_topics(servers.kafka, topics)
    assert [change.action for change in plan_topics(servers.kafka, topics)] == ["keep", "keep"]
    assert [change.action for change in apply_topics(servers.kafka, topics)] == ["keep", "keep"]


def test_a_changed_retention_is_set_right(servers: Settings, topics: list[Topic]) -> None:
    """What somebody turned by hand is turned back, and nothing else is touched."""
    apply_topics(servers.kafka, [replace(topics[0], retention_ms=1000), topics[1]])
    changes = apply_topics(servers.kafka, topics)
    assert [(change.action, change.config) for change in changes] == [
        ("configure", (("retention.ms", str(topics[0].retention_ms)),)),
        ("keep", ()),
    ]
    assert [change.action for change in plan_topics(servers.kafka, topics)] == ["keep", "keep"]


def test_another_partition_count_is_a_persons_decision(servers: Settings, topics: list[Topic]) -> None:
    """Adding partitions would send runs elsewhere: refused, with both ways out."""
    apply_topics(servers.kafka, topics)
    more = servers.kafka.model_copy(update={"partitions": servers.kafka.partitions + 1})
    with pytest.raises(TopicConflict, match="TACHOGRAPH_KAFKA__PARTITIONS"):
        apply_topics(more, topics)


def test_no_broker_is_a_sentence() -> None:
    """Which address, and what to do."""
    with pytest.raises(BrokerUnreachable, match="tachograph up"):
        plan_topics(KafkaSettings(bootstrap_servers="127.0.0.1:9", request_timeout_ms=1000))
