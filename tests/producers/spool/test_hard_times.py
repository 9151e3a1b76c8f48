"""An agent whose disk or broker fails goes on working, and what could not be recorded is counted and reported."""

import errno
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tachograph.producers import Run, Tracer
from tachograph.producers.publishing import Publisher
from tachograph.producers.spool import drain
from tachograph.schemas.topics import EVENTS
from tachograph.schemas.wire import Codec
from tests.producers.spool.conftest import Make, turn_until_quiet
from tests.producers.spool.fakes import FakeBroker, FakeClock, FakeDisk
from tests.producers.support import explicit, make_tracer

Records = list[tuple[str, dict[str, Any]]]


def tracer_on(publisher: Publisher) -> Tracer:
    """As in production: nothing of the recorder's own is raised, and no manifest stops the run."""
    return make_tracer(publisher, tools={"add": lambda a, b: a + b}, strict=False, options=explicit())


def work(run: Run, times: int = 1) -> None:
    """Two tools: six records each time."""
    for number in range(times):
        assert run.tools.execute("add", {"a": number, "b": 1}) == number + 1
        assert run.tools.execute("add", {"a": number, "b": 2}) == number + 2


def arrived(broker: FakeBroker) -> dict[str, Records]:
    """Records by run, in the order of the log; numbers of each run must be without gaps."""
    codec = Codec()
    runs: dict[str, Records] = {}
    for values in broker.values(EVENTS.name).values():
        for value in values:
            name, record = codec.decode(value)
            runs.setdefault(record["run_id"], []).append((name, record))
    for records in runs.values():
        assert [record["seq"] for _, record in records] == list(range(len(records)))
    return runs


def only(runs: dict[str, Records]) -> Records:
    [records] = runs.values()
    return records


@pytest.mark.parametrize("durability", ["process", "disk"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO], ids=["full", "read-only", "broken"])
def test_a_disk_that_fails_in_mid_run(
    make: Make, broker: FakeBroker, disk: FakeDisk, number: int, durability: str
) -> None:
    """Six records are lost. The agent is not told; whoever reads the run is, before the next record and at its end."""
    publisher = make(durability=durability)
    with tracer_on(publisher).start_run() as run:
        work(run)
        disk.error = number
        work(run)
        disk.error = None
        work(run)
    turn_until_quiet(publisher)
    records = only(arrived(broker))
    assert [name for name, _ in records] == [
        "RunStarted",
        *["ToolCallRecord"] * 6,
        "EventsDropped",
        *["ToolCallRecord"] * 6,
        "RunEnded",
    ]
    dropped, ended = records[7][1], records[-1][1]
    assert (dropped["count"], dropped["reason"], dropped["record_types"]) == (6, "spool_io", ["ToolCallRecord"])
    assert (ended["emitted"], ended["dropped"], ended["status"]) == (15, 6, "succeeded")
    assert publisher.stats().dropped >= 6  # and what tried to report them


def test_a_read_only_folder_from_the_start(make: Make, broker: FakeBroker, disk: FakeDisk) -> None:
    """Level process falls back to memory: nothing is lost while the process lives."""
    disk.error = errno.EROFS
    publisher = make()
    with tracer_on(publisher).start_run() as run:
        work(run)
    turn_until_quiet(publisher)
    assert only(arrived(broker))[-1][1]["dropped"] == 0
    assert publisher.stats().degraded


def test_a_read_only_folder_where_only_a_disk_will_do(make: Make, broker: FakeBroker, disk: FakeDisk) -> None:
    """Level disk keeps nothing that it cannot keep durably: all is dropped and counted, and the agent goes on."""
    disk.error = errno.EROFS
    publisher = make(durability="disk")
    with tracer_on(publisher).start_run() as run:
        work(run)
    assert arrived(broker) == {}
    assert run.recorder.channel.dropped == 7  # its end is tried again when the tracer closes
    assert publisher.stats().dropped >= 7


def test_a_broker_that_is_gone_for_an_hour(make: Make, broker: FakeBroker, clock: FakeClock) -> None:
    """Runs begin and end meanwhile; every record arrives when it is back, none is lost."""
    broker.away = True
    publisher = make()
    tracer = tracer_on(publisher)
    for _ in range(6):
        with tracer.start_run() as run:
            work(run)
        turn_until_quiet(publisher)
        clock.now += 600
    assert arrived(broker) == {}
    assert not tracer.flush(0)
    broker.away = False
    clock.now += 60
    turn_until_quiet(publisher)
    runs = arrived(broker)
    assert [len(records) for records in runs.values()] == [8] * 6
    assert {records[-1][1]["dropped"] for records in runs.values()} == {0}


def test_a_spool_that_is_full_of_what_the_broker_does_not_take(make: Make, broker: FakeBroker) -> None:
    """Dropped at once, reported when there is room again."""
    broker.away = True
    publisher = make(max_bytes=8000, when_full="drop")
    with tracer_on(publisher).start_run() as run:
        work(run, times=5)
        broker.away = False
        turn_until_quiet(publisher)
        work(run)
    turn_until_quiet(publisher)
    records = only(arrived(broker))
    [dropped] = [record for name, record in records if name == "EventsDropped"]
    ended = records[-1][1]
    assert dropped["reason"] == "spool_full"
    assert dropped["count"] == ended["dropped"] > 0
    # Kept or lost: every leg of twelve calls, the start and the end. The report is one more.
    assert ended["emitted"] + ended["dropped"] == 12 * 3 + 3


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from tachograph.producers.spool import SpoolOptions, SpoolPublisher
from tests.producers.spool.fakes import FakeBroker
from tests.producers.spool.test_hard_times import tracer_on, work
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
options = SpoolOptions(folder=Path(sys.argv[1]), exit_timeout=0)
publisher = SpoolPublisher(options, transport=FakeBroker(away=True).connect)
with tracer_on(publisher).start_run() as run:
    work(run)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, hard))
    work(run, times=5)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    work(run)
print(run.recorder.channel.dropped)
"""


def test_a_file_system_that_really_refuses(tmp_path: Path) -> None:
    """The kernel's own limit on a file's size stands for a full disk: half a record may have been written."""
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, check=True, timeout=60
    )
    lost = int(done.stdout)
    assert lost > 0
    broker = FakeBroker()
    report = drain(tmp_path, transport=broker.connect)
    assert (report.complete, report.corrupt) == (True, 0)
    records = only(arrived(broker))
    ended = records[-1][1]
    assert (ended["dropped"], ended["emitted"] + lost) == (lost, 14 * 3 + 3)
    assert sum(record["count"] for name, record in records if name == "EventsDropped") == lost


ONE_OF_TWO = """
import sys
from pathlib import Path
from tachograph.producers.ids import RandomIds
from tachograph.producers.spool import SpoolOptions, SpoolPublisher
from tests.producers.spool.fakes import FakeBroker
from tests.producers.spool.test_hard_times import explicit, make_tracer, work
options = SpoolOptions(folder=Path(sys.argv[1]), exit_timeout=0, segment_bytes=4000)
publisher = SpoolPublisher(options, transport=FakeBroker(away=True).connect)
tools = {"add": lambda a, b: a + b}
tracer = make_tracer(publisher, agent_id=sys.argv[2], ids=RandomIds(), tools=tools, options=explicit())
print("ready", flush=True)
sys.stdin.readline()
with tracer.start_run() as run:
    work(run, times=20)
print(run.run_id)
"""


def test_two_processes_on_one_folder(tmp_path: Path) -> None:
    """They write at the same time and take nothing from each other; a third sends what both left."""
    agents = [
        subprocess.Popen(
            [sys.executable, "-c", ONE_OF_TWO, str(tmp_path), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("first", "second")
    ]
    for agent in agents:
        assert agent.stdout is not None
        assert agent.stdout.readline() == "ready\n"
    for agent in agents:
        assert agent.stdin is not None
        agent.stdin.write("go\n")
        agent.stdin.flush()
    told = [agent.communicate(timeout=60)[0].strip() for agent in agents]
    assert [agent.returncode for agent in agents] == [0, 0]
    broker = FakeBroker()
    report = drain(tmp_path, transport=broker.connect)
    assert (report.complete, report.adopted, report.corrupt) == (True, 2, 0)
    runs = arrived(broker)
    assert runs.keys() == set(told)
    assert {len(records) for records in runs.values()} == {20 * 6 + 2}
