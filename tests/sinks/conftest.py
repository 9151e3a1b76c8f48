"""A place of its own for each test: topics, group and tenant. The tables are shared; tests look at their own tenant."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import clickhouse_connect
import pytest
from clickhouse_connect.driver.client import Client
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tachograph.schemas.headers import Header, SourceCoordinates
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import Topic
from tachograph.sinks.clickhouse import SINK_TOPICS, migrate
from tests.sinks.rows import encoded, sample_row
from tests.sinks.running import eventually

PARTITIONS = 2


@pytest.fixture(scope="session")
def migrated(servers: Settings) -> Settings:
    """The real servers, with our tables."""
    migrate(servers)
    return servers


@dataclass
class Place:
    """Topics, group and tenant of one test, and the tools to look at them."""

    settings: Settings
    tenant: str
    topics: tuple[Topic, ...]
    producer: Producer
    console: Client

    def topic(self, table: str) -> str:
        return next(topic.name for topic in self.topics if topic.table == table)

    @property
    def dlq(self) -> str:
        return self.topic("dead_letters")

    def send(self, table: str, numbers: range, **changes: Any) -> None:
        """Rows as the worker writes them: number n goes to partition n % 2 with coordinates (n, 0)."""
        for number in numbers:
            row = sample_row(table, number, tenant_id=self.tenant, **changes)
            self.send_raw(table, number, encoded(table, row))
        self.producer.flush()

    def send_raw(self, table: str, number: int, value: bytes) -> None:
        source = SourceCoordinates(number, 0, f"events/{number % PARTITIONS}").to_bytes()
        self.producer.produce(
            self.topic(table),
            value=value,
            partition=number % PARTITIONS,
            headers=[
                (Header.SOURCE.value, source),
                (Header.CE_SOURCE.value, f"/tenants/{self.tenant}/agents/a".encode()),
            ],
        )

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a query; ``{tenant:String}`` is this test's tenant."""
        return [tuple(row) for row in self.console.query(sql, parameters={"tenant": self.tenant}).result_rows]

    def count(self, table: str) -> int:
        """Rows that are there, without FINAL."""
        found: int = self.query(f"SELECT count() FROM tachograph.{table} WHERE tenant_id = {{tenant:String}}")[0][0]  # noqa: S608 - our own names
        return found

    def numbers(self, table: str) -> list[int]:
        """Numbers of the rows that landed, in order, each as often as it is there."""
        rows = self.query(f"SELECT seq - 1 FROM tachograph.{table} WHERE tenant_id = {{tenant:String}} ORDER BY 1")  # noqa: S608 - our own names
        return [row[0] for row in rows]

    def dead_letters(self, count: int) -> list[Message]:
        """The first messages of the dead-letter topic, by partition and offset."""
        from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415 - used here only

        consumer = Consumer(self.settings.kafka.client(**{"group.id": f"look-{self.tenant}"}))
        consumer.assign([TopicPartition(self.dlq, partition, 0) for partition in range(PARTITIONS)])
        found: list[Message] = []

        def enough() -> bool:
            found.extend(consumer.consume(count, 0.1))
            return len(found) >= count

        try:
            eventually(enough, f"{count} dead letters")
        finally:
            consumer.close()
        return sorted(found, key=lambda message: (message.partition() or 0, message.offset() or 0))

    def with_sink(self, **changes: Any) -> Settings:
        """The settings with other sink settings."""
        return self.settings.model_copy(update={"sink": self.settings.sink.model_copy(update=changes)})


@pytest.fixture
def place(migrated: Settings) -> Iterator[Place]:
    """A fresh place on the real servers."""
    name = f"t{uuid.uuid4().hex[:10]}"
    wanted = {"agent_steps", "agent_decisions", "agent_runs", "dead_letters"}
    with_place = open_place(migrated, name, tuple(topic for topic in SINK_TOPICS if topic.table in wanted))
    yield with_place
    with_place.console.close()


@pytest.fixture
def whole_place(migrated: Settings) -> Iterator[Place]:
    """A fresh place with every topic."""
    place = open_place(migrated, f"t{uuid.uuid4().hex[:10]}", SINK_TOPICS)
    yield place
    place.console.close()


def open_place(servers: Settings, name: str, topics: tuple[Topic, ...]) -> Place:
    """Topics, group and tenant under a name."""
    own = tuple(replace(topic, name=f"{topic.name}.{name}") for topic in topics)
    admin = AdminClient(servers.kafka.client())
    for created in admin.create_topics([NewTopic(topic.name, PARTITIONS, 1) for topic in own]).values():
        created.result()
    sink = servers.sink.model_copy(
        update={"group_id": f"sink-{name}", "instance_id": f"sink-{name}", "batch_within_s": 0.1}
    )
    clickhouse = servers.clickhouse
    console = clickhouse_connect.get_client(
        host=clickhouse.host,
        port=clickhouse.http_port,
        username=clickhouse.console_user,
        password=clickhouse.console_password.get_secret_value(),
    )
    # Idempotent, as the worker's must be: a retried batch that overtook an earlier one would look like repeats.
    producer = Producer(servers.kafka.client(**{"enable.idempotence": True}))
    return Place(servers.model_copy(update={"sink": sink}), name, own, producer, console)
