"""Any calls, any crash: what reaches Kafka is each run from its first record on, without holes or repeats."""

import contextlib
import os
import tempfile
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tachograph.producers import Run, Step, Tracer, lifetimes
from tachograph.producers.publishing import Message
from tachograph.producers.spool import DrainReport, SpoolOptions, SpoolPublisher, drain
from tachograph.producers.spool.files import Files
from tachograph.producers.spool.transport import Report
from tachograph.schemas.headers import Header
from tachograph.schemas.topics import EVENTS
from tachograph.schemas.wire.codec import Codec
from tests.producers.spool.conftest import die
from tests.producers.spool.fakes import FakeBroker, FakeClock, FakeTransport
from tests.producers.support import KEY, explicit
from tests.producers.test_records import PROPOSAL

RUNS = 3
SIGNAL: dict[str, Any] = {"signal_type": "tool_success", "signal_code": "first_attempt", "value": True}
DECISION: dict[str, Any] = {
    "decision_type": "tool_selection",
    "selected": "cache",
    "reason_code": "cached_data_sufficient",
}


def failing_tool(run: Run) -> None:
    with contextlib.suppress(ZeroDivisionError):
        run.tools.execute("fail")


RECORDED: dict[str, Callable[[Run], object]] = {
    "tool": lambda run: run.tools.execute("add", {"a": 1, "b": 2}),
    "failing_tool": failing_tool,
    "model": lambda run: run.model_call(lambda **_: "answer", model="m", messages="question"),
    "decision": lambda run: run.record_decision(**DECISION),
    "signal": lambda run: run.record_quality_signal(**SIGNAL),
    "action": lambda run: run.no_op("nothing to do"),
    "override": lambda run: run.override("event", reason="a person knew better"),
    "proposal": lambda run: run.propose_record(**PROPOSAL),
    "manifest": lambda run: run.record_manifest(prefix="rules"),
    "failure": lambda run: run.fail("GoalNotReached"),
    "refused": lambda run: run.record_decision(**(DECISION | {"reason_code": "because"})),
    "snapshot": lambda run: run.debug_snapshot(),
}
CALLS = (*RECORDED, "open_step", "close_step", "end", "send", "send")


class Killed(BaseException):
    """The process is gone; nothing of it may catch this."""


class Mortal:
    """Publishes to the spool until the process dies in the middle of a write. Notes what callers were told is kept."""

    def __init__(self, spool: SpoolPublisher, folder: Path, dies_at: int, torn: float) -> None:
        self._spool = spool
        self._folder = folder
        self._left = dies_at
        self._torn = torn
        self.returned: list[str] = []

    def publish(self, message: Message) -> None:
        if self._left < 0:
            raise Killed
        before = self._sizes()
        self._spool.publish(message)
        self._left -= 1
        if self._left < 0:
            for path, size in self._sizes().items():
                known = before.get(path, 0)
                os.truncate(path, known + round((size - known) * self._torn))
            raise Killed
        if message.topic == EVENTS.name:
            self.returned.append(dict(message.headers)[Header.CE_ID].decode())

    def flush(self, timeout: float) -> bool:
        return self._spool.flush(timeout)

    def close(self, timeout: float = 10.0) -> None:
        self._spool.close(timeout)

    def stats(self) -> Any:
        return self._spool.stats()

    def _sizes(self) -> dict[Path, int]:
        return {path: path.stat().st_size for path in self._folder.glob("*/*.seg")}


class Agent:
    """A process with a few runs at a time, on a spool that sends when it is told to."""

    def __init__(
        self, folder: Path, connect: Callable[[], FakeTransport], clock: FakeClock, *, dies_at: int, torn: float
    ) -> None:
        options = SpoolOptions(folder=folder, segment_bytes=2000, window=5)
        self.spool = SpoolPublisher(options, transport=connect, clock=clock, start=False)
        self.publisher = Mortal(self.spool, folder, dies_at, torn)
        self.tracer = Tracer(
            "agent",
            publisher=self.publisher,
            capture_key=KEY,
            tools={"add": lambda a, b: a + b, "fail": lambda: 1 / 0},
            options=explicit(),
            strict=False,
        )
        self.runs: dict[int, tuple[Run, list[Step]]] = {}

    def live(self, calls: list[tuple[str, int]]) -> None:
        """Do one thing after another until death."""
        with contextlib.suppress(Killed):
            for call, which in calls:
                self.do(call, which)
        for run in lifetimes.open_runs():
            if run.belongs_to(self.tracer):
                lifetimes.ended(run)  # nobody closes the runs of a dead process

    def do(self, call: str, which: int) -> None:
        """One call of the API, in one of the runs."""
        if call == "send":
            self.spool.turn()
            return
        if which not in self.runs:
            self.runs[which] = (self.tracer.start_run(f"request {which}").start(), [])
        run, steps = self.runs[which]
        match call:
            case "open_step":
                steps.append(run.step("plan", "think").__enter__())
            case "close_step" if steps:
                steps.pop().__exit__(None, None, None)
            case "end":
                del self.runs[which]
                run.close()
            case _ if call in RECORDED:
                RECORDED[call](run)


class MortalDrain:
    """A process that drains, and dies after so many answers of the broker: its files close, nothing is said."""

    def __init__(self, broker: FakeBroker, dies_after: int) -> None:
        self._broker = broker
        self._left = dies_after
        self._open: set[int] = set()
        plain = Files()
        self.files = replace(plain, open=self._opening(plain.open), close=self._closing(plain.close))

    def connect(self) -> FakeTransport:
        transport = slow(self._broker, 2)
        poll = transport.poll

        def mortal(timeout: float) -> list[Report]:
            if self._left <= 0:
                transport.take_silently(1)
                raise Killed
            self._left -= 1
            return poll(timeout)

        transport.poll = mortal  # type: ignore[method-assign]
        return transport

    def die(self) -> None:
        for fd in self._open:
            os.close(fd)

    def _opening(self, opened: Callable[[Path, int], int]) -> Callable[[Path, int], int]:
        def tracked(path: Path, flags: int) -> int:
            fd = opened(path, flags)
            self._open.add(fd)
            return fd

        return tracked

    def _closing(self, closed: Callable[[int], None]) -> Callable[[int], None]:
        def tracked(fd: int) -> None:
            self._open.discard(fd)
            closed(fd)

        return tracked


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    calls=st.lists(st.tuples(st.sampled_from(CALLS), st.integers(0, RUNS - 1)), min_size=5, max_size=30),
    dies_at=st.integers(0, 40),
    pace=st.integers(0, 4),
    torn=st.floats(0, 1),
    taken=st.integers(0, 8),
    drains=st.lists(st.integers(0, 5), max_size=3),
)
def test_every_run_arrives_whole_up_to_the_crash(
    *, calls: list[tuple[str, int]], dies_at: int, pace: int, torn: float, taken: int, drains: list[int]
) -> None:
    """Killed in the middle of a write, with messages under way; drains are killed as well before one ends."""
    broker, clock = FakeBroker(), FakeClock()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        agent = Agent(folder, lambda: slow(broker, pace), clock, dies_at=dies_at, torn=torn)
        copy_context().run(agent.live, calls)  # runs that never end must not be around later code
        for transport in broker.transports:
            transport.take_silently(taken)  # the broker takes some of what was under way; nobody hears its answer
            transport.close()
        die(agent.spool)

        for dies_after in drains:
            process = MortalDrain(broker, dies_after)
            try:
                drained(folder, process.connect, clock, process.files)
            except Killed:
                event("a drain was killed")
                process.die()
        report = drained(folder, broker.connect, clock, Files())

        assert (report.complete, report.alive, report.rejected, report.corrupt) == (True, 0, 0, 0)
        arrived = records_by_run(broker)
        assert {run: [record["seq"] for record in records] for run, records in arrived.items()} == {
            run: list(range(len(records))) for run, records in arrived.items()
        }
        event_ids = [record["event_id"] for records in arrived.values() for record in records]
        assert len(event_ids) == len(set(event_ids))
        # The record whose write was torn may be whole all the same: its caller was told nothing.
        assert set(event_ids) >= set(agent.publisher.returned)
        assert len(event_ids) <= len(agent.publisher.returned) + 1


def slow(broker: FakeBroker, pace: int) -> FakeTransport:
    """A connection on which the broker answers for so many messages at a time."""
    transport = broker.connect()
    transport.pace = pace
    return transport


def drained(folder: Path, connect: Callable[[], FakeTransport], clock: FakeClock, files: Files) -> DrainReport:
    def tick() -> float:
        clock.now += 0.5
        return clock.now

    return drain(folder, transport=connect, files=files, clock=tick, patience=1000)


def records_by_run(broker: FakeBroker) -> dict[str, list[dict[str, Any]]]:
    """Records of every run, in the order of the log."""
    codec = Codec()
    found: dict[str, list[dict[str, Any]]] = {}
    for values in broker.values(EVENTS.name).values():
        for value in values:
            record = codec.decode(value)[1]
            found.setdefault(record["run_id"], []).append(record)
    return found
