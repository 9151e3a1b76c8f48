"""Real processes: kept running, reported, and ended without leftovers."""

import os
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tachograph.deploy.backoff import Backoff
from tachograph.deploy.child import Child
from tachograph.deploy.process import ProcessId, identify, wait_gone
from tachograph.deploy.supervisor import ChildEvent, Supervisor

SLEEPER = "import signal; signal.pause()"
STUBBORN = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
while True:
    signal.pause()
"""
PATIENCE_S = 20


class Watching:
    """A supervisor whose events a test can wait for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.events: queue.Queue[ChildEvent] = queue.Queue()
        self.supervisor = Supervisor(self.events.put, backoff=Backoff(first_s=0.01, longest_s=0.04))

    def start(self, name: str, code: str, *, restart: bool = True) -> None:
        argv = [sys.executable, "-c", code]
        self.supervisor.start(Child(name, argv, self._folder / f"{name}.log", restart=restart))

    def next(self) -> ChildEvent:
        return self.events.get(timeout=PATIENCE_S)


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Watching]:
    watched = Watching(tmp_path)
    yield watched
    watched.supervisor.stop()


def test_a_child_that_dies_is_restarted_and_reported(watching: Watching) -> None:
    """Each death says how it ended and when the next start is; the waits grow."""
    watching.supervisor.arm()
    watching.start("brief", "raise SystemExit(3)")
    events = [watching.next() for _ in range(7)]
    assert [event.what for event in events] == ["started", "died"] * 3 + ["started"]
    deaths = [event for event in events if event.what == "died"]
    assert [(event.returncode, event.restart_in_s) for event in deaths] == [(3, 0.01), (3, 0.02), (3, 0.04)]
    assert len({event.pid for event in events}) == 4


def test_a_child_that_is_killed_comes_back_with_another_pid(watching: Watching) -> None:
    """The supervisor's list is that of now."""
    watching.start("sleeper", SLEEPER)
    watching.supervisor.arm()
    first = watching.next().pid
    os.kill(first, signal.SIGKILL)
    assert watching.next() == ChildEvent("sleeper", "died", first, returncode=-9, restart_in_s=0.01)
    second = watching.next().pid
    assert watching.supervisor.processes() == {"sleeper": identify(second)}


@pytest.mark.parametrize(
    ("armed", "restart"),
    [
        pytest.param(False, True, id="before it is armed"),
        pytest.param(True, False, id="a child that is to run once"),
    ],
)
def test_some_deaths_are_reported_only(watching: Watching, *, armed: bool, restart: bool) -> None:
    """Then nothing is started again."""
    if armed:
        watching.supervisor.arm()
    watching.start("once", "pass", restart=restart)
    assert [watching.next().what, watching.next().restart_in_s] == ["started", None]
    assert watching.supervisor.processes() == {"once": None}


def test_children_end_in_reverse_order(watching: Watching) -> None:
    """What was started last is stopped first."""
    for name in ("kafka", "worker", "sink"):
        watching.start(name, SLEEPER)
        watching.next()
    watching.supervisor.stop()
    assert [(event.name, event.what) for event in (watching.next() for _ in range(3))] == [
        ("sink", "stopped"),
        ("worker", "stopped"),
        ("kafka", "stopped"),
    ]


def test_a_child_that_ignores_sigterm_is_killed_within_ten_seconds(
    watching: Watching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is given its time, and then none; so is what it started itself."""
    monkeypatch.setattr("tachograph.deploy.supervisor.STOP_WITHIN_S", 1.0)
    nested = (
        f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {SLEEPER!r}]); print(p.pid, flush=True)"
    )
    watching.start("stubborn", f"{nested}\n{STUBBORN}")
    child = identify(watching.next().pid)
    grandchild = identify(int(first_line(tmp_path / "stubborn.log", lines=2)))
    began = time.monotonic()
    watching.supervisor.stop()
    assert time.monotonic() - began < 10
    assert watching.next().what == "killed"
    assert child is not None
    assert grandchild is not None
    assert wait_gone([child, grandchild], PATIENCE_S) == []


def test_a_killed_supervisor_leaves_nothing_behind(tmp_path: Path) -> None:
    """Kill -9 of the supervisor ends its children too, even one that ignores SIGTERM."""
    script = f"""
import sys
from pathlib import Path
from tachograph.deploy.child import Child
from tachograph.deploy.supervisor import Supervisor
supervisor = Supervisor(lambda event: print(event.pid, flush=True))
for name, code in (("sleeper", {SLEEPER!r}), ("stubborn", {STUBBORN!r})):
    supervisor.start(Child(name, [sys.executable, "-c", code], Path({str(tmp_path)!r}) / name))
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as supervisor:
        assert supervisor.stdout is not None
        children = [identify(int(supervisor.stdout.readline())) for _ in range(2)]
        assert first_line(tmp_path / "stubborn") == "deaf"
        supervisor.kill()
    alive = [child for child in children if isinstance(child, ProcessId)]
    assert len(alive) == 2
    assert wait_gone(alive, PATIENCE_S) == []


def first_line(log: Path, lines: int = 1) -> str:
    """First line of a log, once it holds so many. Written by another process, so there is nothing to wait on."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = log.read_text().splitlines() if log.exists() else []
        if len(found) >= lines:
            return found[0]
    pytest.fail(f"{log} did not get {lines} lines")
