"""What an agent pays: one recorded tool call beside an OpenTelemetry span and Langfuse's decorator, in turns."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.peers import ONE_KB, PROSE, langfuse_observe, opentelemetry_span, tool
from benchmarks.report import Figure, Ratio, Result
from tachograph.producers import Tracer
from tachograph.producers.hooks import HookMatcher, HookRegistry, PostHookResult, PreHookResult, ToolUseContext
from tachograph.producers.publishing import Publisher
from tachograph.producers.redaction import Redactor
from tachograph.producers.spool import SpoolOptions, SpoolPublisher
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.settings import Settings

ROUNDS = 30
CALLS = 100
WARM_UP = 200
MICRO = 1000
"""Nanoseconds."""


def measure(settings: Settings, folder: Path) -> list[Result]:
    """Every subject in turns, so that a noisy neighbour hits them alike."""
    with ExitStack() as stack:
        subjects = {
            "OpenTelemetry span": stack.enter_context(opentelemetry_span()),
            "Langfuse @observe": stack.enter_context(langfuse_observe()),
            "recorded tool call, memory": stack.enter_context(recorded_call(settings, folder, "memory")),
            "recorded tool call, process": stack.enter_context(recorded_call(settings, folder, "process")),
        }
        costs = in_turns(subjects)
    memory, process = "recorded tool call, memory", "recorded tool call, process"
    otel, langfuse = "OpenTelemetry span", "Langfuse @observe"
    compared: list[Result] = []
    for figure in ("p50", "p99", "CPU"):
        cost = {name: getattr(costs[name], figure.lower()) for name in subjects}
        compared += [
            Ratio(f"{ours}, {figure}", cost[ours], f"{theirs}, {figure}", cost[theirs], goal, "µs", at_most=True)
            for ours, theirs, goal in ((memory, otel, 1.0), (process, langfuse, 0.6))
        ]
    return [
        *compared,
        Figure("hook overhead per tool call, p99", hook_overhead(), 1000, "µs", at_most=True),
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


def in_turns(subjects: dict[str, Callable[[], object]]) -> dict[str, Costs]:
    """The cost of each subject, round by round."""
    for call in subjects.values():
        for _ in range(WARM_UP):
            call()
    costs = {name: Costs() for name in subjects}
    for _ in range(ROUNDS):
        for name, call in subjects.items():
            cpu_before = time.thread_time_ns()
            for _ in range(CALLS):
                before = time.perf_counter_ns()
                call()
                costs[name].walls.append(time.perf_counter_ns() - before)
            costs[name].cpus.append((time.thread_time_ns() - cpu_before) / CALLS)
    return costs


@contextmanager
def recorded_call(
    settings: Settings, folder: Path, durability: str, hooks: HookRegistry | None = None
) -> Iterator[Callable[[], object]]:
    """One tool call through the boundary: redacted, encoded, spooled."""
    options = SpoolOptions(folder=folder / f"spool-{durability}", durability=durability)  # type: ignore[arg-type]
    with calls_through(SpoolPublisher(options, kafka=settings.kafka), hooks) as call:
        yield call


@contextmanager
def calls_through(publisher: Publisher, hooks: HookRegistry | None = None) -> Iterator[Callable[[], object]]:
    """Tool calls of one run."""
    tracer = Tracer("bench", publisher=publisher, tools={"echo": tool}, hooks=hooks, strict=True)
    with tracer, tracer.start_run("measure") as run:
        # Each input differs, or the loop guard would see a loop.
        numbers = iter(range(10**9))
        yield lambda: run.tools.execute("echo", {"text": ONE_KB, "number": next(numbers)})


def hook_overhead() -> float:
    """Microseconds at p99 that one pre-hook and one post-hook add to a call.

    Nothing sends meanwhile: two p99s under a sender's thread differ by milliseconds of the interpreter's lock.
    """

    def before(_context: ToolUseContext) -> PreHookResult:
        return PreHookResult()

    def after(_context: ToolUseContext, _output: object) -> PostHookResult:
        return PostHookResult()

    registry = HookRegistry()
    registry.register(HookMatcher(pre_hooks=(before,), post_hooks=(after,)))
    with calls_through(InMemoryPublisher()) as plain, calls_through(InMemoryPublisher(), registry) as hooked:
        costs = in_turns({"plain": plain, "hooked": hooked})
    return max(0.0, costs["hooked"].p99 - costs["plain"].p99)


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
    ours = import_ms("from tachograph.producers import Tracer")
    theirs = import_ms("import opentelemetry.sdk.trace")
    return [
        Figure("import of the recorder", ours, 150, "ms", at_most=True),
        Ratio("import of the recorder", ours, "import opentelemetry.sdk.trace", theirs, 1.5, "ms", at_most=True),
    ]


def import_ms(statement: str) -> float:
    """Milliseconds of one import statement in a fresh interpreter."""
    code = f"import time; t = time.perf_counter(); {statement}; print((time.perf_counter() - t) * 1000)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
        for _ in range(7)
    ]
    return statistics.median(runs)
