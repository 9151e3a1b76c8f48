"""A ClickHouse that cannot keep up: rows wait in Kafka, the group stays as it is, and in the end all are there once."""

import time
from contextlib import closing

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tachograph.schemas.settings import Settings
from tachograph.sinks.clickhouse.client import connect
from tests.sinks.conftest import Place
from tests.sinks.front import Front
from tests.sinks.running import eventually, running_sink

pytestmark = [pytest.mark.stack, pytest.mark.timeout(180)]

SESSION_S = 6.0
"""The shortest session that a broker takes by default."""


def through(settings: Settings, port: int, **sink: object) -> Settings:
    return settings.model_copy(
        update={
            "clickhouse": settings.clickhouse.model_copy(update={"http_port": port}),
            "sink": settings.sink.model_copy(update=sink),
        }
    )


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(252, id="too many parts"),
        pytest.param(242, id="a read-only replica"),
        pytest.param(241, id="out of memory"),
        pytest.param(999, id="a coordinator that is away"),
    ],
)
def test_what_passes_is_waited_for(place: Place, code: int) -> None:
    """No row becomes a dead letter, none is lost, none lands twice."""
    house = place.settings.clickhouse
    with (
        Front(house.host, house.http_port) as clickhouse,
        running_sink(through(place.settings, clickhouse.port, batch_rows=20), place.topics),
    ):
        place.send("agent_steps", range(50))
        eventually(lambda: place.count("agent_steps") >= 20, "the first rows")
        clickhouse.code = code
        place.send("agent_steps", range(50, 100))
        eventually(lambda: clickhouse.refused >= 2, "the sink to try in vain")
        clickhouse.code = 0
        eventually(lambda: place.count("agent_steps") >= 100, "all rows")
    assert place.numbers("agent_steps") == list(range(100))
    assert place.count("dead_letters") == 0


def test_too_many_parts_of_a_real_table_are_waited_for(place: Place) -> None:
    """ClickHouse itself refuses, as long as the table has more parts than it may."""
    house = place.settings.clickhouse
    with (
        closing(connect(house, house.migrate_user, house.migrate_password)) as owner,
        Front(house.host, house.http_port) as clickhouse,
        running_sink(through(place.settings, clickhouse.port, batch_rows=20), place.topics),
    ):
        place.send("agent_steps", range(50))
        eventually(lambda: place.count("agent_steps") >= 50, "the first rows")
        try:
            owner.command(f"ALTER TABLE {house.database}.agent_steps MODIFY SETTING parts_to_throw_insert = 1")
            place.send("agent_steps", range(50, 100))
            eventually(lambda: clickhouse.said.count(252) >= 2, "the sink to try in vain")
            assert place.count("agent_steps") == 50
        finally:
            owner.command(f"ALTER TABLE {house.database}.agent_steps RESET SETTING parts_to_throw_insert")
        eventually(lambda: place.count("agent_steps") >= 100, "all rows")
    assert set(clickhouse.said) == {252}
    assert place.numbers("agent_steps") == list(range(100))
    assert place.count("dead_letters") == 0


def members(admin: AdminClient, group: str) -> dict[str, set[tuple[str, int]]]:
    """Member ids of the group, and the partitions each has; nothing while its coordinator cannot say."""
    try:
        described = admin.describe_consumer_groups([group], request_timeout=5)[group].result()
    except KafkaException:
        return {}
    return {
        member.member_id: {(part.topic, part.partition) for part in member.assignment.topic_partitions}
        for member in described.members
    }


def test_a_slow_clickhouse_costs_no_membership(place: Place) -> None:
    """Two sinks hold inserts for longer than a session: partitions are paused, nobody is thrown out, all lands once."""
    house = place.settings.clickhouse
    with Front(house.host, house.http_port) as clickhouse:
        one, two = (
            through(place.settings, clickhouse.port, instance_id=f"{place.tenant}-{n}", session_timeout_s=SESSION_S)
            for n in (1, 2)
        )
        admin, group = AdminClient(place.settings.kafka.client()), place.settings.sink.group_id
        known: dict[str, set[tuple[str, int]]] = {}

        def both_have_a_share() -> bool:
            known.clear()
            known.update(members(admin, group))
            return len(known) == 2 and all(known.values())

        with running_sink(one, place.topics), running_sink(two, place.topics):
            eventually(both_have_a_share, "both sinks to have a share")
            before = dict(known)
            clickhouse.go.clear()
            place.send("agent_steps", range(40))
            eventually(lambda: clickhouse.held >= 2, "both sinks to be stuck in an insert")
            stuck_at = time.monotonic()
            place.send("agent_steps", range(40, 80))
            eventually(lambda: time.monotonic() - stuck_at > 1.5 * SESSION_S, "a session to be over")
            eventually(both_have_a_share, "the group to answer")
            assert known == before
            clickhouse.go.set()
            eventually(lambda: place.count("agent_steps") >= 80, "all rows")
            eventually(both_have_a_share, "the group to answer")
            assert known == before
    assert place.numbers("agent_steps") == list(range(80))
