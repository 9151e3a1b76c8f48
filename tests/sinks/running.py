"""Sinks that run beside a test: in a thread, or in a process that can be killed."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import Topic
from tachograph.sinks.clickhouse import run_sink

PATIENCE_S = 60.0
_ROOT = Path(__file__).parents[2]
_TICK = threading.Event()


def eventually(check: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Return as soon as ``check`` holds; fail with ``what`` if it never does."""
    until = time.monotonic() + patience_s
    while not check():
        assert time.monotonic() < until, f"waited {patience_s:.0f} s for {what}"
        _TICK.wait(0.02)


@contextmanager
def running_sink(
    settings: Settings, topics: Sequence[Topic], *, moment: Callable[[str], None] = lambda _name: None
) -> Iterator[None]:
    """A sink in a thread. What it raises, the block raises."""
    stop, raised = threading.Event(), list[BaseException]()

    def run() -> None:
        try:
            run_sink(settings, stop=stop, topics=topics, moment=moment)
        except BaseException as error:  # noqa: BLE001 - handed to the test
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        if raised:
            raise raised[0]


@contextmanager
def sink_process(
    settings: Settings, topics: Sequence[Topic], *, moment: str = "", action: str = ""
) -> Iterator["subprocess.Popen[bytes]"]:
    """A sink in a process of its own, which sends itself ``action`` when it first reaches ``moment``."""
    clickhouse = settings.clickhouse
    told = {
        "home": str(settings.home),
        "sink": settings.sink.model_dump(),
        "http_port": clickhouse.http_port,
        "topics": [[topic.name, topic.table] for topic in topics],
        "moment": moment,
        "action": action,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.sinks.sink_process"], cwd=_ROOT, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(told).encode())
    process.stdin.close()
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def is_stopped(pid: int) -> bool:
    """Whether a process sleeps after SIGSTOP."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "T"
