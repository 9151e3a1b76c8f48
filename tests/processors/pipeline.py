"""A worker process and its topics on the real broker, under a prefix of their own."""

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from tachograph.processors import TopicNames
from tachograph.processors.deadletters import RawRecord
from tachograph.processors.group_offsets import committed_offsets
from tachograph.schemas.headers import Header, SourceCoordinates
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import EVENTS
from tests.processors.records import CODEC, PartitionWorker

PARTITIONS = 3
DEADLINE_S = 60.0
_LOADING = {"_WAIT_COORD", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"}
_LEADERLESS = {"NOT_LEADER_FOR_PARTITION", "UNKNOWN_LEADER_EPOCH", "LEADER_NOT_AVAILABLE"}
_TICK = threading.Event()


class Landed(NamedTuple):
    """A message as a sink reads it."""

    topic: str
    partition: int
    source: SourceCoordinates
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes]


class Pipeline:
    """Publishes, starts and kills workers, and reads what came of it."""

    def __init__(self, servers: Settings, folder: Path) -> None:
        self.id = f"t{uuid.uuid4().hex[:8]}"
        self.names = TopicNames(f"{self.id}.")
        self.app_id = f"{self.id}-worker"
        self.changelog = f"{self.app_id}-runs-changelog"
        self._client: dict[str, Any] = servers.kafka.client()
        self.admin = AdminClient(self._client)
        self._folder = folder
        self._workers: list[subprocess.Popen[bytes]] = []
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("TACHOGRAPH_")} | {
            "TACHOGRAPH_HOME": str(folder / "home"),
            "TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS": servers.kafka.bootstrap_servers,
            "TACHOGRAPH_WORKER__APP_ID": self.app_id,
        }

    def create_topics(self, *, skip: str = "", uneven: str = "") -> None:
        topics = [
            NewTopic(
                name,
                num_partitions=PARTITIONS + (name == uneven),
                replication_factor=1,
                config=EVENTS.config() if name == self.names.events else {},
            )
            for name in (self.names.events, *self.names.outputs)
            if name != skip
        ]
        for future in self.admin.create_topics(topics).values():
            future.result()

    def publish(self, records: Iterable[tuple[str, dict[str, Any]]], *, partition: int = -1) -> None:
        messages = [((record["trace_id"] or "").encode(), CODEC.encode(name, record)) for name, record in records]
        self.publish_raw(messages, partition=partition)

    def publish_raw(
        self, messages: Iterable[tuple[bytes | None, bytes | None]], *, partition: int = -1, **headers: bytes
    ) -> None:
        producer = Producer({**self._client, "partitioner": "murmur2_random", "linger.ms": 5})
        for key, value in messages:
            producer.produce(self.names.events, value, key, partition, headers=[*headers.items()])
        assert producer.flush(DEADLINE_S) == 0

    def start(self, *arguments: str, **settings: str) -> subprocess.Popen[bytes]:
        """Start a worker; settings are given as ``worker__batch_size="50"``."""
        env = self._env | {f"TACHOGRAPH_{name.upper()}": value for name, value in settings.items()}
        with (self._folder / f"worker-{len(self._workers)}.log").open("wb") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", "tachograph.processors", "--topic-prefix", self.names.prefix, *arguments],
                env=env,
                stdout=log,
                stderr=log,
                cwd=self._folder,
            )
        self._workers.append(worker)
        return worker

    def wait_until_ready(self, worker: subprocess.Popen[bytes]) -> None:
        """Wait until a worker says that it is at work: before that, SIGTERM just ends it."""
        path = self._folder / f"worker-{self._workers.index(worker)}.log"
        self.wait_until(lambda: "worker is ready" in path.read_text(), worker)

    def log(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self._folder.glob("worker-*.log")))

    def stop(self) -> None:
        for worker in self._workers:
            if worker.poll() is None:
                worker.kill()
            worker.wait()

    def events(self) -> list[RawRecord]:
        """The input as the broker has it."""
        return [
            RawRecord(
                message.partition(),
                message.offset(),
                message.timestamp()[1] * 1000,
                message.key(),
                message.value(),
                message.headers() or [],
            )
            for message in self._all((self.names.events,))
        ]

    def expected(self) -> list[Landed]:
        """What an undisturbed worker makes of the input."""
        by_partition: dict[int, list[RawRecord]] = {}
        for record in self.events():
            by_partition.setdefault(record.partition, []).append(record)
        landed = []
        for records in by_partition.values():
            messages = PartitionWorker(prefix=self.names.prefix).run(records).messages
            landed += [_landed(m.topic, m.partition, m.key, m.value, m.headers) for m in messages]
        return sorted(landed, key=_place)

    def landed(self) -> list[Landed]:
        """What a sink lands: in order per topic and partition, without what is not above the highest seen."""
        highest: dict[tuple[str, int], SourceCoordinates] = {}
        kept = []
        for item in self.written():
            place = (item.topic, item.partition)
            if place not in highest or item.source[:2] > highest[place][:2]:
                highest[place] = item.source
                kept.append(item)
        return sorted(kept, key=_place)

    def written(self) -> list[Landed]:
        """Every output message, repeats included, in the order of each topic and partition."""
        found = [
            _landed(m.topic(), m.partition(), m.key(), m.value(), m.headers()) for m in self._all(self.names.outputs)
        ]
        return sorted(found, key=lambda item: (item.topic, item.partition))  # stable: offsets stay in order

    def wait_for_outputs(self, enough: Callable[[int], bool], worker: subprocess.Popen[bytes] | None = None) -> None:
        """Wait until the number of output messages is enough."""
        deadline, seen = time.monotonic() + DEADLINE_S, 0
        with closing(self._reader(self.names.outputs)) as reader:
            while not enough(seen):
                assert time.monotonic() < deadline, f"only {seen} outputs\n{self.log()}"
                assert worker is None or worker.poll() is None, self.log()
                seen += len(reader.consume(500, 0.1))

    def wait_until_landed(self, count: int) -> None:
        """Wait until a sink would have landed this many messages."""
        deadline = time.monotonic() + DEADLINE_S
        highest: dict[Any, tuple[int, int]] = {}
        landed = 0
        with closing(self._reader(self.names.outputs)) as reader:
            while landed < count:
                assert time.monotonic() < deadline, f"only {landed} of {count} outputs\n{self.log()}"
                for message in reader.consume(500, 0.1):
                    place = (message.topic(), message.partition())
                    headers: Any = dict(message.headers() or [])
                    source = SourceCoordinates.from_bytes(headers[Header.SOURCE])
                    if source[:2] > highest.get(place, (-1, -1)):
                        highest[place] = source[:2]
                        landed += 1

    def wait_until(self, condition: Callable[[], bool], *workers: subprocess.Popen[bytes]) -> None:
        """Ask again and again, as long as the workers live."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, f"not in time\n{self.log()}"
            for worker in workers:
                assert worker.poll() is None, self.log()
            _TICK.wait(0.05)

    def wait_until_committed(self, offsets: dict[int, int], *workers: subprocess.Popen[bytes]) -> None:
        """Wait until the group is at these places."""
        self.wait_until(lambda: self.committed() == offsets, *workers)

    def states(self) -> dict[bytes, tuple[int, bytes | None]]:
        """Last entry of every run in the changelog, and its partition."""
        return {message.key(): (message.partition(), message.value()) for message in self._all((self.changelog,))}

    def committed(self) -> dict[int, int]:
        """Where the workers' group stands."""
        found = self.offsets(self.app_id, (self.names.events,))
        return {partition: offset for (_, partition), offset in found.items()}

    def offsets(self, group: str, topics: Iterable[str]) -> dict[tuple[str, int], int]:
        """Where any group stands."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                return committed_offsets(self._client, group, topics, DEADLINE_S)
            except KafkaException as error:
                # A broker that has just started may not have read its groups yet.
                if error.args[0].name() not in _LOADING or time.monotonic() > deadline:
                    raise

    def _reader(self, topics: Iterable[str]) -> Consumer:
        reader = Consumer({**self._client, "group.id": f"{self.id}-reader", "enable.auto.commit": False})
        reader.assign([TopicPartition(topic, p, 0) for topic in topics for p in range(PARTITIONS)])
        return reader

    def _all(self, topics: Iterable[str]) -> Iterator[Any]:
        left = self.ends(topics)
        with closing(self._reader(topics)) as reader:
            while left:
                for message in reader.consume(1000, 0.2):
                    assert message.error() is None
                    yield message
                    place, offset = (message.topic(), message.partition()), message.offset()
                    assert offset is not None
                    if offset + 1 >= left.get(place, 0):
                        left.pop(place, None)

    def ends(self, topics: Iterable[str]) -> dict[tuple[str | None, int | None], int]:
        latest: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = {TopicPartition(topic, p): latest for topic in topics for p in range(PARTITIONS)}
        deadline = time.monotonic() + DEADLINE_S
        while True:
            found = {(tp.topic, tp.partition): future for tp, future in self.admin.list_offsets(asked).items()}
            try:
                ends = {place: future.result(DEADLINE_S).offset for place, future in found.items()}
            except KafkaException as error:
                # A topic that was made a moment ago may not have its leaders yet.
                if error.args[0].name() not in _LEADERLESS or time.monotonic() > deadline:
                    raise
            else:
                return {place: end for place, end in ends.items() if end}


def _landed(topic: str, partition: int, key: bytes | None, value: bytes | None, headers: Any) -> Landed:
    named = dict(headers)
    return Landed(topic, partition, SourceCoordinates.from_bytes(named[Header.SOURCE]), key, value, named)


def _place(item: Landed) -> tuple[str, int, int, int]:
    return (item.topic, item.partition, item.source.offset, item.source.output_index)


def terminate(worker: subprocess.Popen[bytes]) -> int:
    """Ask a worker to stop, and return its exit code."""
    worker.send_signal(signal.SIGTERM)
    return worker.wait(DEADLINE_S)
