"""What an agent pays: one recorded tool call beside an OpenTelemetry span and Langfuse's decorator, in turns."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from benchmarks.peers import PROSE, accepting_server
from benchmarks.report import Figure, Ratio, Result
from benchmarks.subject import Round, calls_through, one_round
from tachograph.producers.hooks import HookMatcher, HookRegistry, PostHookResult, PreHookResult, ToolUseContext
from tachograph.producers.redaction import Redactor
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.settings import Settings

ROUNDS = 30
MICRO = 1000
"""Nanoseconds."""

SUBJECTS = {
    "opentelemetry": "OpenTelemetry span",
    "langfuse": "Langfuse @observe",
    "memory": "recorded tool call, memory",
    "process": "recorded tool call, process",
}


def measure(settings: Settings, folder: Path) -> list[Result]:
    """Every subject in a process of its own, in turns: what one leaves to its threads is not charged to another."""
    with ExitStack() as stack:
        address = stack.enter_context(accepting_server())
        subjects = {
            title: stack.enter_context(subject(name, settings, folder, address)) for name, title in SUBJECTS.items()
        }
        costs = in_turns(subjects)
    memory, process = "recorded tool call, memory", "recorded tool call, process"
    otel, langfuse = "OpenTelemetry span", "Langfuse @observe"
    compared: list[Result] = []
    for figure in ("p50", "p99", "CPU"):
        cost = {name: getattr(costs[name], figure.lower()) for name in subjects}
        compared += [
            Ratio(f"{ours}, {figure}", cost[ours], f"{theirs}, {figure}", cost[theirs], goal, "µs", at_most=True)
            for ours, theirs, goal in (
                (memory, otel, 1.0 if figure == "p50" else None),
                (process, langfuse, 0.6 if figure == "p50" else None),
            )
        ]
    return [
        *compared,
        *hook_overheads(),
        *redaction_rates(),
        *import_times(),
    ]


class Costs:
    """What the calls of one subject cost, in microseconds."""

    def __init__(self) -> None:
        self.walls: list[int] = []
        """Nanoseconds of each call by the clock on the wall: what the agent waits, neighbours included."""
        self.cpus: list[float] = []
        """Nanoseconds of processor time of the calling thread for one call, by rounds: neighbours left out."""

    @property
    def p50(self) -> float:
        """Median of the calls, by the wall."""
        return statistics.median(self.walls) / MICRO

    @property
    def p99(self) -> float:
        """99th percentile of the calls, by the wall."""
        return statistics.quantiles(self.walls, n=100)[98] / MICRO

    @property
    def cpu(self) -> float:
        """Median of the rounds, by the calling thread's processor time."""
        return statistics.median(self.cpus) / MICRO


def in_turns(subjects: dict[str, Callable[[], Round]]) -> dict[str, Costs]:
    """The cost of each subject, round by round."""
    costs = {name: Costs() for name in subjects}
    for _ in range(ROUNDS):
        for name, take_turn in subjects.items():
            walls, cpu = take_turn()
            costs[name].walls += walls
            costs[name].cpus.append(cpu)
    return costs


@contextmanager
def subject(name: str, settings: Settings, folder: Path, address: str) -> Iterator[Callable[[], Round]]:
    """A subject, ready and idle until its turn."""
    command = [sys.executable, "-m", "benchmarks.subject", name, str(settings.home), str(folder), address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def take_turn() -> Round:
            stdin.write("go\n")
            stdin.flush()
            walls, cpu = json.loads(stdout.readline())
            return walls, cpu

        try:
            assert stdout.readline() == "ready\n"
            yield take_turn
        finally:
            stdin.close()
            process.wait(30)


def hook_overheads() -> list[Result]:
    """Microseconds at p99 that one pre-hook and one post-hook add to a call: by the wall, and of the thread itself.

    Nothing sends meanwhile: two p99s under a sender's thread differ by milliseconds of the interpreter's lock. On a
    busy machine the wall's p99 is the neighbours'; the thread's own is not.
    """

    def before(_context: ToolUseContext) -> PreHookResult:
        return PreHookResult()

    def after(_context: ToolUseContext, _output: object) -> PostHookResult:
        return PostHookResult()

    registry = HookRegistry()
    registry.register(HookMatcher(pre_hooks=(before,), post_hooks=(after,)))
    figures: list[Result] = []
    for kind, clock in (("", time.perf_counter_ns), (", CPU", time.thread_time_ns)):
        with calls_through(InMemoryPublisher()) as plain, calls_through(InMemoryPublisher(), registry) as hooked:
            costs = in_turns({"plain": partial(one_round, plain, clock), "hooked": partial(one_round, hooked, clock)})
        added = max(0.0, costs["hooked"].p99 - costs["plain"].p99)
        figures.append(Figure(f"hook overhead per tool call, p99{kind}", added, 1000, "µs", at_most=True))
    return figures


def redaction_rates() -> list[Result]:
    """MB/s of prose through the default rules: by the clock, and by the core that did it, neighbours left out."""
    redactor, text = Redactor(), PROSE * 10_000
    redactor.text(text)
    started, cpu_started, done = time.perf_counter(), time.thread_time(), 0
    while time.perf_counter() - started < 1.0:
        redactor.text(text)
        done += len(text)
    wall, cpu = time.perf_counter() - started, time.thread_time() - cpu_started
    return [
        Figure("redaction of prose", done / wall / 1e6, 25, "MB/s", at_most=False),
        Figure("redaction of prose, CPU", done / cpu / 1e6, 25, "MB/s", at_most=False),
    ]


def import_times() -> list[Result]:
    """Import of the recorder beside that of the OpenTelemetry SDK; medians of seven fresh interpreters."""
    ours, ours_cpu = import_ms("from tachograph.producers import Tracer")
    theirs, _ = import_ms("import opentelemetry.sdk.trace")
    return [
        Figure("import of the recorder", ours, 150, "ms", at_most=True),
        Figure("import of the recorder, CPU", ours_cpu, 150, "ms", at_most=True),
        Ratio("import of the recorder", ours, "import opentelemetry.sdk.trace", theirs, 1.5, "ms", at_most=True),
    ]


def import_ms(statement: str) -> tuple[float, float]:
    """Milliseconds of one import statement in a fresh interpreter: by the wall, and of processor time."""
    code = (
        "import time; t, c = time.perf_counter(), time.process_time(); "
        f"{statement}; print((time.perf_counter() - t) * 1000, (time.process_time() - c) * 1000)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
        for _ in range(7)
    ]
    return statistics.median(float(wall) for wall, _ in runs), statistics.median(float(cpu) for _, cpu in runs)
