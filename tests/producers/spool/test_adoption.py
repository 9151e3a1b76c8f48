"""What dead processes leave: torn tails, damaged segments, cursors that lag; and how to look at it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tachograph.producers.spool import drain, inspect
from tachograph.producers.spool.segment import SegmentName
from tests.producers.spool.conftest import TOPIC, Make, die, message, numbers, turn_until_quiet
from tests.producers.spool.fakes import FakeBroker, FakeClock


def drained(folder: Path, broker: FakeBroker) -> list[int]:
    report = drain(folder, transport=broker.connect, clock=_Ticking())
    assert report.complete
    return numbers([value[:4] for value in broker.values(TOPIC).get(b"run", [])])


class _Ticking(FakeClock):
    def __call__(self) -> float:
        self.now += 0.5
        return self.now


def test_a_torn_tail_is_cut_off(make: Make, broker: FakeBroker, tmp_path: Path) -> None:
    """It was never acknowledged to its caller."""
    publisher = make()
    for number in range(3):
        publisher.publish(message(number))
    assert publisher._home is not None
    path = SegmentName(TOPIC, 1).path(publisher._home.path)
    die(publisher)
    os.truncate(path, path.stat().st_size - 3)
    assert inspect(tmp_path / "spool").spools[0].segments[0].torn_bytes > 0
    assert drained(tmp_path / "spool", broker) == [0, 1]


def test_damage_in_the_middle_costs_one_message_and_is_counted(make: Make, broker: FakeBroker, tmp_path: Path) -> None:
    """The others arrive, under their own names."""
    publisher = make()
    for number in range(5):
        publisher.publish(message(number))
    assert publisher._home is not None
    path = SegmentName(TOPIC, 1).path(publisher._home.path)
    die(publisher)
    data = bytearray(path.read_bytes())
    data[data.find((2).to_bytes(4, "big"), 60)] ^= 0x40
    path.write_bytes(bytes(data))
    assert inspect(tmp_path / "spool").spools[0].segments[0].corrupt == 1
    report = drain(tmp_path / "spool", transport=broker.connect, clock=_Ticking())
    assert (report.complete, report.corrupt, report.acknowledged) == (True, 1, 4)


def test_a_damaged_header_does_not_cost_the_segment(make: Make, broker: FakeBroker, tmp_path: Path) -> None:
    """Names say the same."""
    publisher = make()
    publisher.publish(message(1))
    assert publisher._home is not None
    path = SegmentName(TOPIC, 1).path(publisher._home.path)
    die(publisher)
    path.write_bytes(bytes(20) + path.read_bytes()[20:])
    assert drained(tmp_path / "spool", broker) == [1]


def test_a_lost_cursor_costs_time_and_no_repeats(
    make: Make, broker: FakeBroker, clock: FakeClock, tmp_path: Path
) -> None:
    """The whole topic is read back."""
    publisher = make()
    for number in range(5):
        publisher.publish(message(number))
    turn_until_quiet(publisher)
    clock.now += 60
    for number in range(5, 8):
        publisher.publish(message(number))
    assert publisher._home is not None
    cursor = publisher._home.path / f"{TOPIC}.cursor"
    die(publisher)
    cursor.write_bytes(b"garbage")
    assert drained(tmp_path / "spool", broker) == list(range(8))


def test_what_the_kernel_still_sends_for_the_dead_is_waited_for(
    make: Make, broker: FakeBroker, clock: FakeClock
) -> None:
    """Kafka is asked when it must have arrived, and not before."""
    publisher = make()
    publisher.publish(message(0))
    turn_until_quiet(publisher)
    publisher.publish(message(1))
    late = broker.transports[-1]
    late.pace = 0
    publisher.turn()
    die(publisher)
    adopter = make(settle=1.0)
    clock.now += 0.9
    turn_until_quiet(adopter)
    late.take_silently(1)
    clock.now += 0.2
    turn_until_quiet(adopter)
    assert numbers(broker.values(TOPIC)[b"run"]) == [0, 1]
    assert adopter.stats().already_there >= 1


def test_an_adopter_that_dies_is_adopted(make: Make, broker: FakeBroker, clock: FakeClock, tmp_path: Path) -> None:
    """Half of it sent by one, half by the next."""
    publisher = make(segment_bytes=100)
    for number in range(40):
        publisher.publish(message(number))
    die(publisher)
    adopter = make()
    clock.now += 60
    adopter.turn()
    assert 0 < len(broker.values(TOPIC)[b"run"]) < 40
    broker.transports[-1].close()
    die(adopter)
    assert drained(tmp_path / "spool", broker) == list(range(40))
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_report_says_what_waits_and_who_lives(make: Make, tmp_path: Path) -> None:
    """Without touching anything."""
    dead, alive = make(), make()
    dead.publish(message(1))
    dead.publish(message(2, topic="captures"))
    die(dead)
    alive.publish(message(3))
    report = inspect(tmp_path / "spool")
    assert report.waiting == 3
    assert report.bytes > 0
    assert report.oldest is not None
    seen = {(spool.owner_alive, spool.pid, spool.waiting) for spool in report.spools}
    assert seen == {(False, os.getpid(), 2), (True, os.getpid(), 1)}
    assert inspect(tmp_path / "nowhere").spools == ()


def test_a_folder_in_the_making_is_nobodys_orphan(make: Make, tmp_path: Path) -> None:
    """Only a long dead one is swept away."""
    fresh, stale = tmp_path / "spool" / ".new-aa", tmp_path / "spool" / ".new-bb"
    for path in (fresh, stale):
        path.mkdir(parents=True)
        (path / "lock").touch()
    os.utime(stale, (0, 0))
    make()
    assert fresh.exists()
    assert not stale.exists()


def test_a_process_killed_for_real_leaves_its_lock(broker: FakeBroker, tmp_path: Path) -> None:
    """The kernel lets go of it, and what was published is there."""
    program = f"""
import os, sys
from pathlib import Path
from tachograph.producers.spool import SpoolOptions, SpoolPublisher
from tests.producers.spool.conftest import message
from tests.producers.spool.fakes import FakeBroker
publisher = SpoolPublisher(SpoolOptions(folder=Path({str(tmp_path)!r})), transport=FakeBroker(away=True).connect)
for number in range(100):
    publisher.publish(message(number))
print("published", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"published\n"
        assert inspect(tmp_path).spools[0].owner_alive
        assert drain(tmp_path, transport=broker.connect).alive == 1
        assert broker.values(TOPIC) == {}
        process.send_signal(signal.SIGKILL)
    assert not inspect(tmp_path).spools[0].owner_alive
    assert drained(tmp_path, broker) == list(range(100))
