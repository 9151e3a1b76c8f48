"""One subject of the comparison in a process of its own: a line on stdin is a round, a line on stdout its costs."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers import ONE_KB, langfuse_observe, opentelemetry_span, tool
from tachograph.producers import Tracer
from tachograph.producers.hooks import HookRegistry
from tachograph.producers.publishing import Publisher
from tachograph.producers.spool import SpoolOptions, SpoolPublisher
from tachograph.schemas.settings import load_settings

CALLS = 100
WARM_UP = 300

Round = tuple[list[int], float]
"""Nanoseconds of each call by the wall, and of one call by the calling thread's processor time."""


def one_round(call: Callable[[], object], clock: Callable[[], int] = time.perf_counter_ns) -> Round:
    """Call it a hundred times, each by the wall unless told otherwise."""
    walls = []
    cpu_before = time.thread_time_ns()
    for _ in range(CALLS):
        before = clock()
        call()
        walls.append(clock() - before)
    return walls, (time.thread_time_ns() - cpu_before) / CALLS


@contextmanager
def calls_through(publisher: Publisher, hooks: HookRegistry | None = None) -> Iterator[Callable[[], object]]:
    """Tool calls of one run through the boundary: redacted, encoded, handed to the publisher."""
    tracer = Tracer("bench", publisher=publisher, tools={"echo": tool}, hooks=hooks, strict=True)
    with tracer, tracer.start_run("measure") as run:
        # Each input differs, or the loop guard would see a loop.
        numbers = iter(range(10**9))
        yield lambda: run.tools.execute("echo", {"text": ONE_KB, "number": next(numbers)})


@contextmanager
def chosen(
    name: str, home: Path, folder: Path, address: str
) -> Iterator[tuple[Callable[[], object], Callable[[], object]]]:
    """The call to measure, and how to wait until nothing of it is left to do."""
    if name == "opentelemetry":
        with opentelemetry_span() as made:
            yield made
    elif name == "langfuse":
        with langfuse_observe(address) as made:
            yield made
    else:
        options = SpoolOptions(folder=folder / f"spool-{name}", durability=name)  # type: ignore[arg-type]
        publisher = SpoolPublisher(options, kafka=load_settings(home).kafka)
        with calls_through(publisher) as call:
            yield call, lambda: publisher.flush(10)


def main(name: str, home: str, folder: str, address: str) -> None:
    """Warm up, then a round per line."""
    with chosen(name, Path(home), Path(folder), address) as (call, settle):
        for _ in range(WARM_UP):
            call()
        settle()
        print("ready", flush=True)
        for _line in sys.stdin:
            result = one_round(call)
            settle()
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
