"""Sinks that are killed, one after another, at a step of their choice.

A process costs a second of imports, and fifty would cost a minute. So one process imports everything, holds no client
and no thread, and forks a sink for each round: :func:`doomed_sinks` is the test's end of it.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tachograph.schemas.settings import Settings, SinkSettings, load_settings
from tachograph.schemas.topics import DLQ, ROWS, Topic
from tachograph.sinks.clickhouse import run_sink

_ROOT = Path(__file__).parents[2]

Doom = Callable[[str, int], int]
"""Runs a sink until it has reached a step so many times, kills it there, and returns the signal that ended it."""


@contextmanager
def doomed_sinks(settings: Settings, topics: Sequence[Topic]) -> Iterator[Doom]:
    told = {
        "home": str(settings.home),
        "sink": settings.sink.model_dump(),
        "topics": [[topic.name, topic.table] for topic in topics],
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.sinks.sink_rounds"],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def say(what: object) -> None:
        stdin.write(json.dumps(what).encode() + b"\n")
        stdin.flush()

    def doom(moment: str, times: int) -> int:
        say([moment, times])
        return int(stdout.readline())

    try:
        say(told)
        yield doom
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        stdin.close()
        stdout.close()


def main() -> None:
    told = json.loads(sys.stdin.readline())
    settings = load_settings(Path(told["home"]))
    settings = settings.model_copy(update={"sink": SinkSettings(**told["sink"])})
    tables = {topic.table: topic for topic in (*ROWS, DLQ)}
    topics = [replace(tables[table], name=name) for name, table in told["topics"]]
    for line in sys.stdin:
        moment, times = json.loads(line)
        child = os.fork()
        if child == 0:
            _live(settings, topics, moment, times)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0}\n")
        sys.stdout.flush()


def _live(settings: Settings, topics: Sequence[Topic], fatal: str, times: int) -> None:
    left = [times]

    def moment(name: str) -> None:
        if name == fatal:
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        run_sink(settings, stop=threading.Event(), topics=topics, moment=moment)
    finally:
        os._exit(1)


if __name__ == "__main__":
    main()
