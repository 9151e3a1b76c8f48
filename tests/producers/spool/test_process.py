"""The publisher as part of a process: threads, forks, exit, imports."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tachograph.producers.spool import SpoolOptions, SpoolPublisher
from tests.producers.spool.conftest import TOPIC, Make, message, numbers, turn_until_quiet
from tests.producers.spool.fakes import FakeBroker, FakeDisk


@pytest.mark.parametrize("durability", ["memory", "process", "disk"])
def test_many_threads_lose_nothing(tmp_path: Path, durability: str) -> None:
    """Each thread's messages arrive in its order."""
    broker = FakeBroker()
    options = SpoolOptions(folder=tmp_path, durability=durability, segment_bytes=5000, linger=0)  # type: ignore[arg-type]
    publisher = SpoolPublisher(options, transport=broker.connect)

    def work(name: int) -> None:
        for number in range(200):
            publisher.publish(message(number, key=b"%d" % name))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert publisher.flush(30)
    publisher.close()
    assert {key: numbers(values) for key, values in broker.values(TOPIC).items()} == {
        b"%d" % name: list(range(200)) for name in range(8)
    }


def test_callers_share_a_sync(make: Make, disk: FakeDisk) -> None:
    """While one syncs, the others append and wait; the next sync is for all of them."""
    publisher = make(durability="disk")
    publisher.publish(message(0))
    inside, go_on = threading.Event(), threading.Event()
    sync, before = disk.files.sync, disk.syncs

    def slow_sync(fd: int) -> None:
        inside.set()
        assert go_on.wait(30)
        sync(fd)

    object.__setattr__(disk.files, "sync", slow_sync)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(publisher.publish, message(1))
        assert inside.wait(30)
        others = [pool.submit(publisher.publish, message(number)) for number in range(2, 8)]
        while publisher.stats().spooled < 8:
            os.sched_yield()
        go_on.set()
        for future in (first, *others):
            future.result(30)
    assert disk.syncs - before == 2


def test_a_forked_child_has_a_spool_of_its_own(tmp_path: Path) -> None:
    """It sends nothing of the parent's, takes nothing from it, and does not keep its lock."""
    program = f"""
import os, sys
from pathlib import Path
from tachograph.producers.spool import SpoolOptions, SpoolPublisher, inspect
from tests.producers.spool.conftest import message
from tests.producers.spool.fakes import FakeBroker
folder = Path({str(tmp_path)!r})
publisher = SpoolPublisher(SpoolOptions(folder=folder, exit_timeout=0), transport=FakeBroker(away=True).connect)
publisher.publish(message(1, key=b"parent"))
pid = os.fork()
publisher.publish(message(2, key=b"parent" if pid else b"child"))
assert publisher.stats().spooled == (2 if pid else 1)
if pid:
    assert os.waitpid(pid, 0)[1] == 0
    alive = [spool for spool in inspect(folder).spools if spool.owner_alive]
    assert len(inspect(folder).spools) == 2 and len(alive) == 1 and alive[0].pid == os.getpid()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    broker = FakeBroker()
    publisher = SpoolPublisher(SpoolOptions(folder=tmp_path, settle=0), transport=broker.connect, start=False)
    turn_until_quiet(publisher)
    publisher.close()
    assert {key: numbers(values) for key, values in broker.values(TOPIC).items()} == {b"parent": [1, 2], b"child": [2]}


def test_a_signal_handler_may_publish(make: Make, broker: FakeBroker) -> None:
    """Also while its own thread holds the publisher's lock."""
    publisher = make()
    with publisher._lock:
        publisher.publish(message(1))
    turn_until_quiet(publisher)
    assert numbers(broker.values(TOPIC)[b"run"]) == [1]


def test_exit_without_close_leaves_nothing_unsaid(tmp_path: Path) -> None:
    """The interpreter's exit sends what it can, and a broker that is away does not hold it up or make it noisy."""
    program = f"""
from pathlib import Path
from tachograph.producers.spool import SpoolOptions, SpoolPublisher
from tachograph.schemas.settings import KafkaSettings
from tests.producers.spool.conftest import message
options = SpoolOptions(folder=Path({str(tmp_path)!r}), exit_timeout=0.2)
publisher = SpoolPublisher(options, kafka=KafkaSettings(bootstrap_servers="127.0.0.1:1"))
for number in range(100):
    publisher.publish(message(number))
"""
    run = subprocess.run([sys.executable, "-c", program], check=True, timeout=30, capture_output=True, text=True)
    assert "Traceback" not in run.stderr
    broker = FakeBroker()
    publisher = SpoolPublisher(SpoolOptions(folder=tmp_path, settle=0), transport=broker.connect, start=False)
    turn_until_quiet(publisher)
    publisher.close()
    assert numbers(broker.values(TOPIC)[b"run"]) == list(range(100))


def test_importing_costs_neither_kafka_nor_pydantic() -> None:
    """The agent's start pays for nothing that its first message does not need."""
    program = """
import sys
from tachograph.producers.publishing import Message, SpoolPublisher
sys.exit(", ".join({"confluent_kafka", "pydantic", "asyncio"} & set(sys.modules)))
"""
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False).stderr.strip()
        == ""
    )
