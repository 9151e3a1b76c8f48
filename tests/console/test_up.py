"""`tachograph up` as a person uses it: it starts, says what it does, mends itself, and leaves nothing behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tachograph.console.database import reader
from tachograph.console.demo.recording import record_stories
from tachograph.producers.publishing import SpoolPublisher
from tachograph.schemas.settings import load_settings

pytestmark = [pytest.mark.stack, pytest.mark.timeout(240)]
SNAPSHOTS = """
SELECT trigger, kind, stored, artifact_id FROM snapshot_pointers
WHERE run_id IN {runs:Array(String)} ORDER BY trigger = 'tool_timeout' DESC, occurred_at, kind
"""
PARTS = {"supervisor", "kafka", "clickhouse", "worker", "snapshots", "sealer", "sink", "slo"}


class Up:
    """A running `tachograph up` and what it has said."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._said = home.parent / "up.err"
        with self._said.open("wb") as stderr:
            self.process = subprocess.Popen(command("up", home=home), stderr=stderr, env=environment())

    def said(self) -> str:
        return self._said.read_text()

    def status(self) -> dict[str, Any]:
        answer = subprocess.run(
            command("status", "--json", home=self.home), check=True, capture_output=True, text=True, env=environment()
        )
        found: dict[str, Any] = json.loads(answer.stdout)
        return found

    def pids(self) -> dict[str, int | None]:
        return {part["part"]: part["pid"] for part in self.status()["parts"]}


def command(*arguments: str, home: Path) -> list[str]:
    return [sys.executable, "-m", "tachograph.console.main", "--home", str(home), *arguments]


def environment() -> dict[str, str]:
    return os.environ | {"NO_COLOR": "1", "COLUMNS": "200"}


def wait_until(condition: Callable[[], bool], up: Up) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert up.process.poll() is None, up.said()
        assert time.monotonic() < deadline, up.said()


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    running = Up(tmp_path / "state")
    yield running
    if running.process.poll() is None:
        running.process.send_signal(signal.SIGKILL)
        running.process.wait()


def what_the_demo_faults_left(up: Up) -> None:
    """The demo's agent meets two timeouts; what its model had been shown is in the store, for those with the keys."""
    settings = load_settings(up.home)
    recorded = record_stories(settings, SpoolPublisher.from_settings(settings))
    with reader(settings) as database:

        def snapshots() -> list[Any]:
            return [*database.rows(SNAPSHOTS, {"runs": recorded.run_ids})]

        wait_until(lambda: len(snapshots()) == recorded.captures, up)
        found = snapshots()
    assert [tuple(row[:3]) for row in found[:2]] == [("tool_timeout", "prompt", True)] * 2
    assert all(stored for _, _, stored, _ in found)
    keys = [up.home / "keys" / "capture.key", *(up.home / "keys" / "tenants").iterdir()]
    assert [path.name for path in keys] == ["capture.key", "default.key"]
    assert {oct(path.stat().st_mode & 0o777) for path in keys} == {"0o600"}

    def opened(artifact_id: str) -> str:
        asked = command("artifacts", "get", artifact_id, home=up.home)
        return subprocess.run(asked, check=True, capture_output=True, text=True, env=environment()).stdout

    assert "Run the integration suite of the client." in opened(found[0][-1])


def test_the_life_of_a_stack(up: Up) -> None:
    """Start, look, refuse a second one, keep a fault's snapshot, restart a killed worker, stop: as a person does."""
    wait_until(lambda: "ready: Kafka at" in up.said(), up)
    assert up.status()["running"] is True
    before = up.pids()
    assert set(before) == PARTS
    assert all(before.values())

    secret = {path.name: path for path in up.home.rglob("*") if path.name in {"stack.env", "stack.json", "users.xml"}}
    assert len(secret) == 3
    assert {oct(path.stat().st_mode & 0o777) for path in secret.values()} == {"0o600"}

    second = subprocess.run(
        command("up", home=up.home), check=False, capture_output=True, text=True, env=environment(), timeout=60
    )
    assert second.returncode == 1
    assert "already running" in second.stderr
    assert "Traceback" not in second.stderr

    what_the_demo_faults_left(up)

    worker = before["worker"]
    assert worker is not None
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: up.pids()["worker"] not in {None, worker}, up)
    assert re.search(r"worker: died with -9, starting again in", up.said())

    stopped = subprocess.run(
        command("down", home=up.home), check=False, capture_output=True, text=True, env=environment(), timeout=60
    )
    assert stopped.returncode == 0, stopped.stderr
    assert up.process.wait(30) == 0, up.said()
    assert all(gone(pid) for pid in before.values() if pid is not None)
    assert up.status()["running"] is False
