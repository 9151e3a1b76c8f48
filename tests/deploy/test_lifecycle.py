"""A whole stack in its own process, from the first start to kill -9."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tachograph.deploy.clickhouse import ask
from tachograph.deploy.errors import AlreadyRunning, DiskFull, PortTaken, ServerDied, WrongVersion
from tachograph.deploy.process import ProcessId, identify, wait_gone
from tachograph.deploy.stack import LocalStack, child_environment
from tachograph.deploy.status import StackStatus, down, status
from tachograph.schemas.settings import Settings, load_settings

# What `tachograph up` does, with a child that only waits. Each event is a line.
UP = """
import sys
from pathlib import Path
from tachograph.deploy.stack import LocalStack
from tachograph.schemas.settings import load_settings
with LocalStack(load_settings(home=Path(sys.argv[1])), on_event=lambda e: print(e.name, e.what, flush=True)) as stack:
    stack.start_servers()
    stack.start_children([("waiter", [sys.executable, "-c", "import signal; signal.pause()"])])
    print("all up", flush=True)
    stack.run_until_signal()
print("all down", flush=True)
"""
PATIENCE_S = 30


class Up:
    """A supervisor in another process."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", UP, str(home)], stdout=subprocess.PIPE, text=True)

    def wait_for(self, line: str) -> list[str]:
        """Lines up to this one."""
        assert self.process.stdout is not None
        seen: list[str] = []
        for found in self.process.stdout:
            seen.append(found.strip())
            if seen[-1] == line:
                return seen
        pytest.fail(f"{line!r} never came after {seen}")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "state folder, mit Ümlaut"  # a path that needs quoting wherever it is not quoted
    yield folder
    down(folder)


@pytest.fixture
def up(home: Path) -> Iterator[Callable[[], Up]]:
    started: list[Up] = []

    def start_one() -> Up:
        started.append(Up(home))
        return started[-1]

    yield start_one
    for each in started:
        each.process.kill()
        with each.process:
            pass


def everything(found: StackStatus) -> list[ProcessId]:
    pids = [part.pid for part in (found.supervisor, *found.parts)]
    processes = [identify(pid) for pid in pids if pid is not None]
    return [process for process in processes if process is not None]


def write(settings: Settings, topic: str) -> None:
    admin = AdminClient(settings.kafka.client())  # named, because it must outlive its answer
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(PATIENCE_S)
    producer = Producer(settings.kafka.client())
    producer.produce(topic, b"kept")
    assert producer.flush(PATIENCE_S) == 0
    port, password = settings.clickhouse.http_port, settings.clickhouse.migrate_password.get_secret_value()
    for sql in (
        "CREATE DATABASE tachograph",
        "CREATE TABLE tachograph.t (x UInt8) ENGINE = MergeTree ORDER BY x",
        "INSERT INTO tachograph.t VALUES (7)",
    ):
        assert ask(port, "migrate", password, sql) == ""


def read(settings: Settings, topic: str) -> tuple[bytes | str | None, str | None]:
    consumer = Consumer(settings.kafka.client(**{"group.id": "reader"}))
    consumer.assign([TopicPartition(topic, 0, 0)])
    message = consumer.poll(PATIENCE_S)
    consumer.close()
    assert message is not None
    port, password = settings.clickhouse.http_port, settings.clickhouse.console_password.get_secret_value()
    return message.value(), ask(port, "console", password, "SELECT x FROM tachograph.t")


@pytest.mark.stack
def test_a_stack_from_its_first_start_to_kill_9(home: Path, up: Callable[[], Up]) -> None:
    """Start, look, refuse a second, keep data over a restart, repair a killed server, leave nothing behind."""
    topic = f"lifecycle-{uuid4().hex}"
    first = up()
    first.wait_for("all up")
    running = status(home)
    assert [part.name for part in running.parts] == ["clickhouse", "kafka", "waiter"]
    assert running.supervisor.pid == first.process.pid
    assert all(part.running and part.log.is_file() for part in running.parts)
    with (
        pytest.raises(AlreadyRunning, match=f"process {first.process.pid}"),
        LocalStack(load_settings(home=home)) as second,
    ):
        second.start_servers()
    write(load_settings(home=home), topic)

    assert down(home) is True
    assert first.wait_for("all down")[:3] == ["waiter stopped", "kafka stopped", "clickhouse stopped"]
    assert first.process.wait(PATIENCE_S) == 0
    stopped = status(home)
    assert (stopped.running, [part.running for part in stopped.parts]) == (False, [False] * 3)
    assert down(home) is False

    again = up()
    again.wait_for("all up")
    assert [part.ports for part in status(home).parts] == [part.ports for part in running.parts]
    assert read(load_settings(home=home), topic) == (b"kept", "7")
    kafka = next(part.pid for part in status(home).parts if part.name == "kafka")
    assert kafka is not None
    os.kill(kafka, signal.SIGKILL)
    assert again.wait_for("kafka started")[-2:] == ["kafka died", "kafka started"]
    assert read(load_settings(home=home), topic) == (b"kept", "7")

    left = everything(status(home))
    assert len(left) == 4
    again.process.kill()
    assert wait_gone(left, PATIENCE_S) == []
    assert not status(home).running


def no_children(home: Path) -> bool:
    return not any(part.running for part in status(home).parts)


def start(home: Path, **local: int) -> None:
    with LocalStack(load_settings(home=home, local=local)) as stack:
        stack.start_servers()


def test_a_taken_port_is_refused_before_anything_starts(home: Path) -> None:
    """The sentence names port and setting."""
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortTaken, match=f"{port}.*TACHOGRAPH_LOCAL__KAFKA_PORT"):
            start(home, kafka_port=port)
    assert no_children(home)


def test_data_of_another_version_is_refused_before_anything_starts(home: Path) -> None:
    """Nothing is written beside it."""
    folder = home / "clickhouse"
    folder.mkdir(parents=True)
    (folder / "VERSION").write_text('{"layout": 1, "server": "clickhouse", "version": "24.3"}')
    with pytest.raises(WrongVersion, match=r"clickhouse 24\.3.*Nothing was changed"):
        start(home)
    assert [path.name for path in folder.iterdir()] == ["VERSION"]


def test_a_full_disk_is_refused_before_anything_starts(home: Path) -> None:
    """No data folder is begun on it."""
    with (
        pytest.raises(DiskFull, match="Nothing was started"),
        LocalStack(load_settings(home=home), free=lambda _folder: 0) as stack,
    ):
        stack.start_servers()
    assert list((home / "kafka").iterdir()) == []


@pytest.mark.stack
def test_a_server_that_cannot_start_is_named_with_its_log(home: Path) -> None:
    """Its data is not what it wrote; the other server is stopped again, and the data left as it is."""
    meta = home / "kafka" / "data" / "meta.properties"
    meta.parent.mkdir(parents=True)
    (home / "kafka" / "VERSION").write_text('{"layout": 1, "server": "kafka", "version": "4.3.1"}')
    meta.write_text("not what Kafka wrote\n")
    with pytest.raises(ServerDied, match=r"kafka ended while starting.*kafka\.log"):
        start(home)
    assert meta.read_text() == "not what Kafka wrote\n"
    assert no_children(home)


def test_children_are_not_led_to_another_stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Addresses in our environment would win over those of the stack that was just started."""
    monkeypatch.setenv("TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS", "production:9092")
    monkeypatch.setenv("TACHOGRAPH_CLICKHOUSE__HOST", "production")
    monkeypatch.setenv("TACHOGRAPH_LOG_LEVEL", "DEBUG")
    found = {name: value for name, value in child_environment(tmp_path).items() if name.startswith("TACHOGRAPH_")}
    assert found == {"TACHOGRAPH_HOME": str(tmp_path), "TACHOGRAPH_LOG_LEVEL": "DEBUG"}
