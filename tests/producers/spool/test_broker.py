"""The real transport on a real broker."""

import secrets
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from tachograph.producers.publishing import Message
from tachograph.producers.spool import (
    SPOOL_HEADER,
    SpoolCoordinates,
    SpoolOptions,
    SpoolPublisher,
    drain,
    inspect,
)
from tachograph.producers.spool.kafka import KafkaTransport
from tachograph.schemas.settings import Settings
from tests.producers.spool.conftest import message, numbers
from tests.producers.spool.topics import create_topic, read_topic

pytestmark = pytest.mark.stack


@pytest.mark.parametrize("durability", ["memory", "process", "disk"])
def test_messages_arrive_once_and_in_order(servers: Settings, tmp_path: Path, durability: str) -> None:
    """Through segments, batches and partitions; closing leaves nothing behind."""
    topic = create_topic(servers.kafka)
    options = SpoolOptions(folder=tmp_path, durability=durability, segment_bytes=20_000)  # type: ignore[arg-type]
    publisher = SpoolPublisher(options, kafka=servers.kafka)
    for number in range(1000):
        publisher.publish(message(number, key=b"%d" % (number % 7), topic=topic))
    assert publisher.flush(60)
    assert publisher.stats().acknowledged == 1000
    publisher.close()
    assert {key: numbers(values) for key, values in read_topic(servers.kafka, topic).items()} == {
        b"%d" % key: list(range(key, 1000, 7)) for key in range(7)
    }
    assert list(tmp_path.iterdir()) == []


def test_a_message_carries_its_headers_and_its_place(servers: Settings, tmp_path: Path) -> None:
    """The spool adds one header and changes nothing."""
    topic = create_topic(servers.kafka)
    publisher = SpoolPublisher(SpoolOptions(folder=tmp_path), kafka=servers.kafka)
    assert publisher._home is not None
    spool = publisher._home.spool
    publisher.publish(Message(topic, b"key", b"\xc3\x01", (("ce_id", b"1"), ("empty", b""))))
    publisher.close(60)
    consumer = Consumer(servers.kafka.client(**{"group.id": "test-reader", "auto.offset.reset": "earliest"}))
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(4)])
    found = consumer.poll(30)
    consumer.close()
    assert found is not None
    place = SpoolCoordinates(spool, 1, 0)
    assert (found.key(), found.value()) == (b"key", b"\xc3\x01")
    assert found.headers() == [("ce_id", b"1"), ("empty", b""), (SPOOL_HEADER, place.to_bytes())]
    assert SpoolCoordinates.from_bytes(place.to_bytes()) == place


def test_a_message_the_broker_refuses_is_parked_and_the_rest_arrives(servers: Settings, tmp_path: Path) -> None:
    """The topic takes less than the producer: the batch fails, its messages are tried alone, one is to blame."""
    topic = create_topic(servers.kafka, **{"max.message.bytes": "20000"})
    publisher = SpoolPublisher(SpoolOptions(folder=tmp_path, settle=0.2), kafka=servers.kafka)
    for number in range(20):
        publisher.publish(message(number, topic=topic))
    publisher.publish(Message(topic, b"run", secrets.token_bytes(50_000)))
    for number in range(20, 40):
        publisher.publish(message(number, topic=topic))
    assert not publisher.flush(60), "one of them was refused"
    stats = publisher.stats()
    publisher.close()
    assert (stats.rejected, stats.messages_waiting) == (1, 0)
    assert numbers(read_topic(servers.kafka, topic)[b"run"]) == list(range(40))
    assert inspect(tmp_path).rejected == 1


def test_a_topic_made_later_gets_what_waited(servers: Settings, tmp_path: Path) -> None:
    """A process that starts before the topics do loses nothing."""
    topic = f"spool-test-{secrets.token_hex(6)}"
    publisher = SpoolPublisher(SpoolOptions(folder=tmp_path), kafka=servers.kafka)
    publisher.publish(message(1, topic=topic))
    assert not publisher.flush(0.5)
    publisher.close(0)
    create_topic(servers.kafka, topic)
    assert drain(tmp_path, servers.kafka).complete
    assert numbers(read_topic(servers.kafka, topic)[b"run"]) == [1]


def test_reading_back_finds_one_spool_among_others(servers: Settings) -> None:
    """From the floors on, and not before them; a floor beyond the end means another topic of that name."""
    topic = create_topic(servers.kafka)
    ours, others = b"ourspool", b"another!"
    transport = KafkaTransport(servers.kafka, max_message_bytes=1000)
    for number in range(20):
        for spool in (ours, others):
            assert transport.send(message(number, topic=topic), spool, (1, number), number)
    places: list[tuple[int, int]] = []
    while len(places) < 40:
        places += [(report.partition, report.offset) for report in transport.poll(10)]
    (partition,) = {where for where, _ in places}
    assert transport.ends(topic)[partition] == 40
    found = transport.find(topic, {ours: {partition: 30}}, lambda: False)
    assert found == {ours: {(1, number): (partition, 2 * number) for number in range(15, 20)}}
    assert len(transport.find(topic, {ours: {partition: 1000}}, lambda: False)[ours]) == 20
    transport.close()


def test_a_child_forked_from_a_sending_parent(servers: Settings, tmp_path: Path) -> None:
    """Both send, both exit in their own time: the child does not touch the client it inherited."""
    topic = create_topic(servers.kafka)
    program = f"""
import os, sys
from pathlib import Path
from tachograph.producers.spool import SpoolOptions, SpoolPublisher
from tachograph.schemas.settings import KafkaSettings
from tests.producers.spool.conftest import message
options = SpoolOptions(folder=Path({str(tmp_path)!r}))
publisher = SpoolPublisher(options, kafka=KafkaSettings(bootstrap_servers={servers.kafka.bootstrap_servers!r}))
publisher.publish(message(1, key=b"parent", topic={topic!r}))
assert publisher.flush(30)
publisher.publish(message(2, key=b"parent", topic={topic!r}))
pid = os.fork()
publisher.publish(message(3, key=b"parent" if pid else b"child", topic={topic!r}))
publisher.close(30)
if pid:
    assert os.waitpid(pid, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert {key: numbers(values) for key, values in read_topic(servers.kafka, topic).items()} == {
        b"parent": [1, 2, 3],
        b"child": [3],
    }
    assert list(tmp_path.iterdir()) == []


def test_an_interpreter_that_ends_while_it_sends(servers: Settings, tmp_path: Path) -> None:
    """Its exit waits for nobody here: what was under way and what was not arrives once, by the one who drains."""
    topic = create_topic(servers.kafka)
    program = f"""
import sys
from pathlib import Path
from tachograph.producers.spool import SpoolOptions, SpoolPublisher
from tachograph.schemas.settings import KafkaSettings
from tests.producers.spool.conftest import message
options = SpoolOptions(folder=Path({str(tmp_path)!r}), exit_timeout=0, linger=0, window=50)
publisher = SpoolPublisher(options, kafka=KafkaSettings(bootstrap_servers={servers.kafka.bootstrap_servers!r}))
number = 0
while publisher.stats().acknowledged < 100:
    publisher.publish(message(number, topic={topic!r}))
    number += 1
for more in range(number, number + 500):
    publisher.publish(message(more, topic={topic!r}))
print(more + 1)
sys.exit(3)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=60, capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert drain(tmp_path, servers.kafka).complete
    assert numbers(read_topic(servers.kafka, topic)[b"run"]) == list(range(int(done.stdout)))
