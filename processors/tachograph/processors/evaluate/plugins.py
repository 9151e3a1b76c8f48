"""Evaluators from other packages: sync or async, beside the stream and never in its way.

An event is handed over without waiting. A plug-in that is too slow, fails, or has too much waiting gives ``unknown``
with the reason; the stream goes on either way.
"""

import asyncio
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from tachograph.processors.evaluate.results import SEVERITIES, SIDES, Check, Finding, Side, Status

GROUP: Final = "tachograph.evaluators"
"""Entry points: each names a function without arguments that returns an EventEvaluator, or None if it is off."""

_STATUSES: Final = ("pass", "warn", "fail", "unknown")
_log: Final = logging.getLogger(__name__)


class Verdict(NamedTuple):
    """What a plug-in says of one event."""

    kind: Side
    code: str
    """Short name of what was judged, such as ``stays_on_topic``."""
    status: Status
    message: str = ""
    """Without captured content."""
    severity: str = "warn"
    evidence: str | None = None
    """A pointer into the event, or an excerpt that shows no secret."""
    constraint_id: str | None = None


@runtime_checkable
class EventEvaluator(Protocol):
    """A plug-in. ``evaluate`` may be a coroutine function; it must not change the event."""

    @property
    def name(self) -> str:
        """What its verdicts are filed under."""

    @property
    def timeout_s(self) -> float:
        """Seconds after which its answer no longer counts."""

    def evaluate(self, event: Mapping[str, Any]) -> Iterable[Verdict] | Awaitable[Iterable[Verdict]]:
        """Judge a decoded DecisionEvent."""


class PluginResult(NamedTuple):
    """Answer of one plug-in for one event, or why there is none."""

    plugin: str
    event: Mapping[str, Any]
    checks: list[tuple[Side, Check]]
    violations: list[Finding]
    reason: str | None
    """Why nothing is known: overload, timeout, error. None if the plug-in answered."""


@dataclass(frozen=True, slots=True)
class PluginLimits:
    """How much waits and runs at once."""

    queue: int = 1000
    """Events that wait for each plug-in; one more is answered ``unknown`` at once."""
    concurrency: int = 4
    """Calls of each plug-in at once. Of sync ones, also how many threads may hang before it is passed over."""


def load_plugins(group: str = GROUP) -> list[EventEvaluator]:
    """Every plug-in that is installed and on. One that cannot be loaded is logged and left out."""
    plugins: list[EventEvaluator] = []
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        try:
            plugin = entry.load()()
        except Exception as error:  # noqa: BLE001 - another package's mistake must not stop the worker
            _log.warning("evaluator %s is left out: loading it raised %s", entry.name, type(error).__name__)
            continue
        if plugin is None:
            continue
        if not isinstance(plugin, EventEvaluator):
            _log.warning("evaluator %s is left out: it has no name, timeout_s and evaluate", entry.name)
            continue
        plugins.append(plugin)
    return plugins


class PluginRunner:
    """Runs plug-ins beside the stream. ``deliver`` is called in the loop's thread, once per event and plug-in."""

    def __init__(
        self,
        plugins: Sequence[EventEvaluator],
        deliver: Callable[[PluginResult], None],
        limits: PluginLimits | None = None,
    ) -> None:
        self._limits = limits or PluginLimits()
        self._deliver = deliver
        self._lanes = [_Lane(plugin, self._limits, self._answer) for plugin in plugins]

    async def start(self) -> None:
        """Begin to work on what is submitted."""
        for lane in self._lanes:
            lane.start()

    def submit(self, event: Mapping[str, Any]) -> None:
        """Hand an event to every plug-in. Never waits."""
        for lane in self._lanes:
            if not lane.take(event):
                self._answer(unanswered(lane.name, event, "overload: too many events wait for this evaluator"))

    async def join(self) -> None:
        """Wait until everything submitted was answered."""
        for lane in self._lanes:
            await lane.queue.join()

    async def stop(self, grace_s: float = 5.0) -> None:
        """Answer what waits within the grace, then give up: the rest is ``unknown``."""
        try:
            await asyncio.wait_for(self.join(), grace_s)
        except TimeoutError:
            pass
        finally:
            for lane in self._lanes:
                await lane.stop()

    def _answer(self, result: PluginResult) -> None:
        try:
            self._deliver(result)
        except Exception as error:  # noqa: BLE001 - whoever takes results must not end the lanes
            _log.warning("a result of evaluator %s was not taken: %s", result.plugin, type(error).__name__)


class _Lane:
    """One plug-in with its queue."""

    def __init__(self, plugin: EventEvaluator, limits: PluginLimits, answer: Callable[[PluginResult], None]) -> None:
        self.name: str = plugin.name
        self.queue: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue(limits.queue)
        self._plugin = plugin
        self._answer = answer
        self._concurrency = limits.concurrency
        self._hanging = 0
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._work()) for _ in range(self._concurrency)]

    def take(self, event: Mapping[str, Any]) -> bool:
        try:
            self.queue.put_nowait(event)
        except asyncio.QueueFull:
            return False
        return True

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        while not self.queue.empty():
            self._answer(unanswered(self.name, self.queue.get_nowait(), "the worker stopped before the answer"))
            self.queue.task_done()
        close = getattr(self._plugin, "close", None)
        if close is not None:
            await close()

    async def _work(self) -> None:
        while True:
            event = await self.queue.get()
            try:
                self._answer(await self._judge(event))
            except asyncio.CancelledError:
                self._answer(unanswered(self.name, event, "the worker stopped before the answer"))
                raise
            finally:
                self.queue.task_done()

    async def _judge(self, event: Mapping[str, Any]) -> PluginResult:
        try:
            async with asyncio.timeout(self._plugin.timeout_s):
                if inspect.iscoroutinefunction(self._plugin.evaluate):
                    verdicts = await self._plugin.evaluate(event)
                else:
                    verdicts = await self._in_thread(event)
            return answered(self.name, event, verdicts)
        except TimeoutError:
            return unanswered(self.name, event, "timeout: the evaluator took too long")
        except _HangingError:
            return unanswered(self.name, event, "overload: earlier calls of this evaluator still hang")
        except Exception as error:  # noqa: BLE001 - another package's mistake; its text may hold content
            return unanswered(self.name, event, f"error: the evaluator raised {type(error).__name__}")

    async def _in_thread(self, event: Mapping[str, Any]) -> Iterable[Verdict]:
        """Call a sync plug-in in a thread of its own. Daemons, so that one that hangs cannot keep the process alive."""
        if self._hanging >= self._concurrency:
            raise _HangingError
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Iterable[Verdict]] = loop.create_future()

        def settle(verdicts: Iterable[Verdict] | None, error: Exception | None) -> None:
            self._hanging -= 1
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(verdicts or ())

        def call() -> None:
            verdicts: list[Verdict] | None = None
            failure: Exception | None = None
            try:
                verdicts = list(self._plugin.evaluate(event))  # type: ignore[arg-type]  # not a coroutine function
            except Exception as error:  # noqa: BLE001 - handed to the loop
                failure = error
            try:
                loop.call_soon_threadsafe(settle, verdicts, failure)
            except RuntimeError:
                return  # the loop is gone, and nobody waits

        self._hanging += 1
        threading.Thread(target=call, name=f"evaluator-{self.name}", daemon=True).start()
        return await future


class _HangingError(Exception):
    """Every thread that this plug-in may have is taken by a call that timed out."""


def unanswered(plugin: str, event: Mapping[str, Any], reason: str) -> PluginResult:
    """No answer, and why: unknown on the side of alignment, which is what plug-ins are asked about first."""
    return PluginResult(plugin, event, [("alignment", Check(plugin, "unknown", reason))], [], reason)


def answered(plugin: str, event: Mapping[str, Any], verdicts: Iterable[Verdict]) -> PluginResult:
    """Checks and findings of an answer. Raises if it is not made of verdicts."""
    checks: list[tuple[Side, Check]] = []
    findings: list[Finding] = []
    for verdict in verdicts:
        kind, code, status, message, severity, evidence, constraint_id = verdict
        if kind not in SIDES or status not in _STATUSES or severity not in SEVERITIES:
            raise ValueError("a verdict has an unknown kind, status or severity")
        checks.append((kind, Check(f"{plugin}.{code}", status, message, constraint_id)))
        if status in ("warn", "fail"):
            findings.append(
                Finding(
                    kind, f"{kind}.{plugin}.{code}", severity, message, evidence, constraint_id, status, "none",
                    event.get("step_id"), None,
                )
            )  # fmt: skip
    return PluginResult(plugin, event, checks, findings, None)
