"""Any order of publishing, sending, losing the producer, dying and adopting: once and in order, or not published."""

import contextlib
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tachograph.producers.publishing import Dropped, Message
from tachograph.producers.spool import SpoolOptions, SpoolPublisher, drain
from tests.producers.spool.conftest import TOPIC, die, numbers, turn_until_quiet
from tests.producers.spool.fakes import FakeBroker, FakeClock, FakeDisk

KEYS = (b"a", b"b", b"c", b"d")


class Crashes(RuleBasedStateMachine):
    """Two processes on one folder, a broker, and a clock. Each key belongs to one process at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.broker = FakeBroker()
        self.clock = FakeClock()
        self.disk = FakeDisk()
        self.kept: dict[bytes, list[int]] = {}
        self.next_number = 0
        self.processes = [self._start(), self._start()]
        self.generation = 0

    def _start(self) -> SpoolPublisher:
        self.disk.error = None  # one that starts on a bad disk keeps its messages in memory: another test's matter
        options = SpoolOptions(folder=self.folder, segment_bytes=150, window=7, max_bytes=2000, when_full="drop")
        return SpoolPublisher(
            options, transport=self.broker.connect, files=self.disk.files, clock=self.clock, start=False
        )

    @rule(process=st.integers(0, 1), key=st.sampled_from(KEYS), size=st.integers(0, 60))
    def publish(self, process: int, key: bytes, size: int) -> None:
        name = b"%d-%d-" % (process, self.generation if process else 0) + key
        number = self.next_number
        self.next_number += 1
        with contextlib.suppress(Dropped):
            self.processes[process].publish(Message(TOPIC, name, number.to_bytes(4, "big") + bytes(size)))
            self.kept.setdefault(name, []).append(number)

    @rule(process=st.integers(0, 1), pace=st.integers(0, 8))
    def send_some(self, process: int, pace: int) -> None:
        for transport in self.broker.transports:
            transport.pace = pace
        self.processes[process].turn()

    @rule(seconds=st.floats(0, 40))
    def time_passes(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule(which=st.integers(0, 99), taken=st.integers(0, 8))
    def a_producer_is_lost(self, which: int, taken: int) -> None:
        """After the broker took some of what was under way without an answer."""
        if self.broker.transports:
            transport = self.broker.transports[which % len(self.broker.transports)]
            if not transport.closed:
                transport.take_silently(taken)
                transport.lose()

    @rule(taken=st.integers(0, 8))
    def the_second_process_dies(self, taken: int) -> None:
        """By kill -9, with some of what was under way arriving all the same."""
        sender = self.processes[1]._loop
        transport = sender.sender._transport if sender is not None else None
        if transport is not None:
            transport.take_silently(taken)  # type: ignore[attr-defined]
            transport.close()
        die(self.processes[1])
        self.generation += 1
        self.processes[1] = self._start()

    @rule(away=st.booleans())
    def the_broker_goes_or_comes(self, away: bool) -> None:
        self.broker.away = away

    @rule(error=st.sampled_from([None, None, 28, 5]))
    def the_disk_fails_or_recovers(self, error: int | None) -> None:
        self.disk.error = error

    @invariant()
    def what_arrived_is_a_beginning_of_what_was_kept(self) -> None:
        for key, values in self.broker.values(TOPIC).items():
            found = numbers([value[:4] for value in values])
            assert found == self.kept[key][: len(found)], key

    def teardown(self) -> None:
        """The broker and the disk come back, both processes die, and a drain brings everything."""
        try:
            self._drain()
        finally:
            shutil.rmtree(self.folder)

    def _drain(self) -> None:
        self.broker.away = False
        self.disk.error = None
        for process in self.processes:
            die(process)

        def tick() -> float:
            self.clock.now += 0.5
            return self.clock.now

        report = drain(self.folder, transport=self.broker.connect, files=self.disk.files, clock=tick, patience=1000)
        assert report.complete
        found = {key: numbers([value[:4] for value in values]) for key, values in self.broker.values(TOPIC).items()}
        assert found == self.kept
        assert report.corrupt == 0


TestCrashes = Crashes.TestCase
TestCrashes.settings = settings(
    max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def test_sending_comes_to_rest() -> None:
    """With nothing to do the sender says so."""
    with tempfile.TemporaryDirectory() as folder:
        publisher = SpoolPublisher(SpoolOptions(folder=Path(folder)), transport=FakeBroker().connect, start=False)
        turn_until_quiet(publisher)
        publisher.close(0)
