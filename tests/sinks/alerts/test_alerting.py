"""Alerting as a whole: violations on the real broker, receivers on loopback that fail, hang and answer 500."""

import json
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tachograph.processors.group_offsets import committed_offsets
from tachograph.schemas.headers import Header
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import ViolationKind, violation_topic
from tachograph.sinks.alerts import ALERT_TOPICS, RoutingTable, run_alerts
from tachograph.sinks.clickhouse.dead_letters import dead_letter_row
from tests.sinks.alerts.receiver import LoopbackReceiver, loopback_receiver
from tests.sinks.alerts.samples import table, violation
from tests.sinks.rows import CODEC
from tests.sinks.running import eventually
from tests.status_pages import free_ports, get, is_ready, samples, total

pytestmark = pytest.mark.stack

RETRY = {"first_s": 0.05, "longest_s": 0.2, "give_up_after_s": 60}


@dataclass
class Desk:
    """Topics and group of one test."""

    settings: Settings
    topic: str
    dlq: str
    producer: Producer
    admin: AdminClient

    def report(self, *numbers: int, **changes: Any) -> None:
        for number in numbers:
            value = CODEC.encode("rows.violations", violation(number, code=f"policy.c{number}", **changes))
            self.producer.produce(self.topic, value=value, partition=0)
        self.producer.flush()

    def committed(self) -> int:
        client, group = self.settings.kafka.client(), self.settings.alerts.group_id
        try:
            return committed_offsets(client, group, (self.topic,), 30).get((self.topic, 0), -1)
        except KafkaException:  # a broker that has just started does not know its groups yet
            return -1

    def dead_letters(self, count: int) -> list[Message]:
        consumer = Consumer(
            self.settings.kafka.client(**{"group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"})
        )
        consumer.assign([TopicPartition(self.dlq, 0, 0)])
        found = list[Message]()

        def enough() -> bool:
            found.extend(consumer.consume(10, 0.5))
            return len(found) >= count

        eventually(enough, "dead letters")
        consumer.close()
        return found

    @contextmanager
    def alerting(self, routes: RoutingTable, environment: Mapping[str, str] | None = None) -> Iterator[None]:
        stop, raised = threading.Event(), list[BaseException]()

        def run() -> None:
            try:
                run_alerts(
                    self.settings,
                    routes,
                    stop=stop,
                    topics=[self.topic],
                    dead_letter_topic=self.dlq,
                    environment=environment or {},
                )
            except BaseException as error:  # noqa: BLE001 - handed to the test
                raised.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            if raised:
                raise raised[0]


@pytest.fixture
def desk(servers: Settings) -> Desk:
    name = uuid.uuid4().hex[:10]
    topic, dlq = f"violations.{name}", f"dlq.{name}"
    admin = AdminClient(servers.kafka.client())
    for created in admin.create_topics([NewTopic(topic, 1, 1), NewTopic(dlq, 1, 1)]).values():
        created.result()
    alerts = servers.alerts.model_copy(update={"group_id": f"alerts-{name}", "instance_id": f"alerts-{name}"})
    settings = servers.model_copy(update={"alerts": alerts})
    return Desk(settings, topic, dlq, Producer(servers.kafka.client()), admin)


def to(*remotes: LoopbackReceiver, **changes: Any) -> RoutingTable:
    """Everything to every one of them, each violation in a message of its own."""
    receivers = tuple(
        {"name": f"r{number}", "type": "webhook", "url": remote.url, "secret_env": "KEY", "retry": RETRY} | changes
        for number, remote in enumerate(remotes)
    )
    names = [found["name"] for found in receivers]
    return table({"name": "all", "receivers": names, "group_wait_s": 0, "group_by": ["code"]}, receivers=receivers)


KEY = {"KEY": "swordfish"}


def told(remote: LoopbackReceiver) -> list[str]:
    return [heard.headers["webhook-id"] for heard in remote.heard]


def test_it_reads_every_topic_of_violations() -> None:
    """Whatever kind a violation is of, somebody can be told."""
    assert set(ALERT_TOPICS) == {violation_topic(kind) for kind in ViolationKind}


def test_a_receiver_that_fails_is_told_again_until_it_has_it(desk: Desk) -> None:
    """500, a dropped connection and a hang; the id stays the same, and the offset is committed after the delivery."""
    with loopback_receiver(500, "drop", "hang", 503) as remote, desk.alerting(to(remote, timeout_s=0.3), KEY):
        desk.report(1)
        eventually(lambda: desk.committed() == 1, "the commit")
        assert told(remote) == ["v1"] * 5


def test_a_receiver_that_hangs_holds_up_nobody_else(desk: Desk) -> None:
    """The others hear at once; nothing is committed while one of them does not have it."""
    with loopback_receiver("hang") as slow, loopback_receiver() as quick:
        with desk.alerting(to(slow, quick, timeout_s=100), KEY):
            desk.report(1, 2, 3)
            eventually(lambda: sorted(told(quick)) == ["v1", "v2", "v3"], "the quick one's alerts")
            assert desk.committed() < 1
            slow.released.set()
            eventually(lambda: desk.committed() == 3, "the commit")
        assert sorted(set(told(slow))) == ["v1", "v2", "v3"]


def test_what_was_not_delivered_is_delivered_after_a_restart(desk: Desk) -> None:
    """At least once: a stop forgets nothing, and a repeat has the id of the first."""
    with loopback_receiver(*[500] * 3) as remote:
        never_again = to(remote, retry={"first_s": 3600, "longest_s": 3600})
        with desk.alerting(never_again, KEY):
            desk.report(1, 2, 3)
            eventually(lambda: len(remote.heard) == 3, "three attempts")
        assert desk.committed() < 1
        with desk.alerting(to(remote), KEY):
            eventually(lambda: desk.committed() == 3, "the commit")
        assert sorted(told(remote)) == ["v1", "v1", "v2", "v2", "v3", "v3"]


@pytest.mark.parametrize(
    ("answers", "retry", "reason"),
    [
        pytest.param((410,), RETRY, "receiver r0: answered 410", id="refused for good"),
        pytest.param((500,), RETRY | {"give_up_after_s": 1e-9}, "receiver r0: answered 500", id="failed for too long"),
    ],
)
def test_what_cannot_be_delivered_is_a_dead_letter(
    desk: Desk, answers: tuple[int, ...], retry: dict[str, float], reason: str
) -> None:
    """The original bytes, the receiver and its answer; the next alert goes on."""
    with loopback_receiver(*answers) as remote, desk.alerting(to(remote, retry=retry), KEY):
        desk.report(1)
        eventually(lambda: desk.committed() == 1, "the commit")
        desk.report(2)
        eventually(lambda: desk.committed() == 2, "the second commit")
        assert told(remote) == ["v1"] * len(answers) + ["v2"]
    (letter,) = desk.dead_letters(1)
    assert CODEC.decode_as("rows.violations", letter.value())["violation_id"] == "v1"
    row = dead_letter_row(letter)
    assert (row["stage"], row["component"], row["error"]) == ("DELIVER", "tachograph.sinks.alerts", reason)
    assert (row["source_topic"], row["source_offset"]) == (desk.topic, 0)
    assert Header.SOURCE.value not in dict(letter.headers() or ())


def test_bytes_that_are_no_violation_are_a_dead_letter(desk: Desk) -> None:
    """They stop nothing."""
    desk.producer.produce(desk.topic, value=b"canary", partition=0)
    desk.report(1)
    with loopback_receiver() as remote, desk.alerting(to(remote), KEY):
        eventually(lambda: desk.committed() == 2, "the commit")
        assert told(remote) == ["v1"]
    (letter,) = desk.dead_letters(1)
    assert dead_letter_row(letter)["stage"] == "DECODE"


def test_routes_decide_who_hears(desk: Desk) -> None:
    """By tenant and severity, in one consumer; what no route is for is committed and told to nobody."""
    with loopback_receiver() as pager, loopback_receiver() as chat:
        routes = table(
            {"name": "page", "match": {"at_least": "critical"}, "receivers": ["r0"], "group_wait_s": 0},
            {"name": "acme", "match": {"tenants": ["acme"]}, "receivers": ["r1"], "group_wait_s": 0},
            receivers=tuple(found.model_dump(exclude_none=True) for found in to(pager, chat).receivers),
        )
        with desk.alerting(routes, KEY):
            desk.report(1)
            desk.report(2, severity="critical")
            desk.report(3, tenant_id="other")
            eventually(lambda: desk.committed() == 3, "the commit")
        assert [told(pager), told(chat)] == [["v2"], ["v1"]]
        assert json.loads(pager.heard[0].body)["route"] == "page"


def test_alerting_says_how_it_is(desk: Desk) -> None:
    """Ready once it is a member; then what was read and delivered is counted, and nothing waits."""
    port, _ = free_ports()
    alerts = desk.settings.alerts.model_copy(update={"http_port": port})
    served = replace(desk, settings=desk.settings.model_copy(update={"alerts": alerts}))
    with loopback_receiver() as remote, served.alerting(to(remote), KEY):
        eventually(lambda: is_ready(port), "to be a member")
        before = samples(port)
        desk.report(1, 2, 3)
        place = "tachograph_alerts_lag", ("0", desk.topic)
        eventually(lambda: samples(port).get(place) == 0 and desk.committed() == 3, "to be done")
        found = samples(port)
        for name in ("tachograph_alerts_violations_total", "tachograph_alerts_deliveries_total"):
            assert total(found, name) - total(before, name) == 3
        assert total(found, "tachograph_alerts_waiting") == 0
        assert get(port, "healthz") == (200, "ok\n")
