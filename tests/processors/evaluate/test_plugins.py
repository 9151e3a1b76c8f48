"""Plug-ins run beside the stream: whatever they do, every event is answered and nobody waits for them."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, cast

import pytest

from tachograph.processors.evaluate.plugins import (
    PluginLimits,
    PluginResult,
    PluginRunner,
    Verdict,
    load_plugins,
)
from tests.processors.evaluate.events import event

GOOD = Verdict("quality", "tidy", "pass")
BAD = Verdict("policy", "rude", "fail", "it was rude", "error", "model_output.output_raw", "c1")
FOREVER = 3600.0


class Sync:
    def __init__(self, answer: Callable[[], Iterable[Verdict]], timeout_s: float = FOREVER) -> None:
        self.name, self.timeout_s, self._answer = "plugin", timeout_s, answer

    def evaluate(self, _event: Mapping[str, Any]) -> Iterable[Verdict]:
        return self._answer()


class Async:
    def __init__(self, answer: Callable[[], Awaitable[Iterable[Verdict]]], timeout_s: float = FOREVER) -> None:
        self.name, self.timeout_s, self._answer = "plugin", timeout_s, answer

    async def evaluate(self, _event: Mapping[str, Any]) -> Iterable[Verdict]:
        return await self._answer()


async def _say(*verdicts: Verdict) -> Iterable[Verdict]:
    return verdicts


async def _hang() -> Iterable[Verdict]:
    await asyncio.Event().wait()
    return ()


def _raise() -> Iterable[Verdict]:
    raise RuntimeError("canary")


def results(plugin: Sync | Async, count: int = 1, limits: PluginLimits | None = None) -> list[PluginResult]:
    """What the runner delivers for this many events."""
    found: list[PluginResult] = []

    async def run() -> None:
        runner = PluginRunner([plugin], found.append, limits)
        await runner.start()
        for _ in range(count):
            runner.submit(event())
        await runner.join()
        await runner.stop()

    asyncio.run(run())
    return found


@pytest.mark.parametrize(
    "plugin",
    [pytest.param(Sync(lambda: [GOOD, BAD]), id="sync"), pytest.param(Async(lambda: _say(GOOD, BAD)), id="async")],
)
def test_an_answer_becomes_checks_and_findings(plugin: Sync | Async) -> None:
    """Verdicts are filed under the plug-in's name, and those that are broken rules are findings."""
    (result,) = results(plugin)
    assert result.reason is None
    assert [(side, check.id, check.status) for side, check in result.checks] == [
        ("quality", "plugin.tidy", "pass"),
        ("policy", "plugin.rude", "fail"),
    ]
    (found,) = result.violations
    assert (found.code, found.severity, found.verdict, found.action) == ("policy.plugin.rude", "error", "fail", "none")
    assert (found.constraint_id, found.step_id) == ("c1", "step_1")


@pytest.mark.parametrize(
    ("plugin", "reason"),
    [
        pytest.param(Sync(_raise), "error: the evaluator raised RuntimeError", id="raises"),
        pytest.param(Async(_hang, 0.01), "timeout: the evaluator took too long", id="hangs"),
        pytest.param(
            Sync(lambda: [cast("Verdict", ("x",))]), "error: the evaluator raised ValueError", id="says no verdicts"
        ),
        pytest.param(
            Sync(lambda: [GOOD._replace(status="perfect")]),  # type: ignore[arg-type]  # as a foreign package might
            "error: the evaluator raised ValueError",
            id="says an unknown status",
        ),
    ],
)
def test_no_answer_is_unknown_with_a_reason(plugin: Sync | Async, reason: str) -> None:
    """A plug-in that fails costs its own verdict and nothing else; its error text may hold content and stays out."""
    (result,) = results(plugin)
    assert result.reason == reason
    assert [check.status for _, check in result.checks] == ["unknown"]
    assert result.violations == []
    assert "canary" not in repr(result.checks)


def test_overload_is_answered_at_once() -> None:
    """What does not fit in the queue is unknown immediately; submitting never waits."""
    found: list[PluginResult] = []

    async def run() -> None:
        runner = PluginRunner([Async(_hang)], found.append, PluginLimits(queue=2, concurrency=1))
        for _ in range(5):
            runner.submit(event())
        assert [result.reason for result in found] == ["overload: too many events wait for this evaluator"] * 3
        await runner.start()
        await runner.stop(grace_s=0)

    asyncio.run(run())
    assert len(found) == 5
    assert {result.reason for result in found[3:]} == {"the worker stopped before the answer"}


def test_a_sync_plugin_that_hangs_takes_a_bounded_number_of_threads() -> None:
    """Threads cannot be killed, so a plug-in whose threads all hang is passed over until one comes back."""
    release = threading.Event()

    def block() -> Iterable[Verdict]:
        release.wait()
        return [GOOD]

    try:
        found = results(Sync(block, 0.01), count=6, limits=PluginLimits(concurrency=2))
    finally:
        release.set()
    reasons = [result.reason for result in found]
    assert reasons.count("timeout: the evaluator took too long") == 2
    assert reasons.count("overload: earlier calls of this evaluator still hang") == 4


def test_a_receiver_that_fails_does_not_end_the_lane() -> None:
    """Results keep coming when one was not taken."""
    seen: list[PluginResult] = []

    def deliver(result: PluginResult) -> None:
        seen.append(result)
        raise RuntimeError

    async def run() -> None:
        runner = PluginRunner([Sync(lambda: [GOOD])], deliver, PluginLimits(concurrency=1))
        await runner.start()
        runner.submit(event())
        runner.submit(event())
        await runner.stop()

    asyncio.run(run())
    assert len(seen) == 2


def test_plugins_are_found_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge is installed and off; with an address and a model it is there."""
    for name in ("URL", "MODEL"):
        monkeypatch.delenv(f"TACHOGRAPH_JUDGE__{name}", raising=False)
    assert load_plugins() == []
    monkeypatch.setenv("TACHOGRAPH_JUDGE__URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("TACHOGRAPH_JUDGE__MODEL", "m")
    assert [plugin.name for plugin in load_plugins()] == ["judge"]
