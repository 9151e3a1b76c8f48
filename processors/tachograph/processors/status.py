"""What a worker says of itself over HTTP: asked on its own event loop, so that a loop that hangs is found out."""

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Final, TypeVar

from prometheus_client import generate_latest

from tachograph.processors.metrics import WorkerMetrics
from tachograph.processors.worker import Worker

ANSWER_S: Final = 10.0
"""Longest time for the loop to answer. A batch of 2,000 holds it for less than a second."""

T = TypeVar("T")


class WorkerStatus:
    """Asks a worker. Make it on the worker's loop; ask it from any other thread."""

    def __init__(self, worker: Worker, metrics: WorkerMetrics) -> None:
        self._worker = worker
        self._metrics = metrics
        self._loop = asyncio.get_running_loop()

    def metrics(self) -> bytes:
        """Every metric. Gauges are as they were if the loop does not answer: the counters are worth having then."""
        self._on_loop(self._look)
        return generate_latest(self._metrics.registry)

    def dead(self) -> str | None:
        """Whether the loop goes round."""
        if self._on_loop(lambda: True):
            return None
        return f"the worker's event loop did not answer within {ANSWER_S:g} s"

    def not_ready(self) -> str | None:
        """What the worker waits for."""
        return self._on_loop(self._worker.not_ready)

    def _look(self) -> None:
        worker = self._worker
        self._metrics.stands(lag=worker.lag(), runs=worker.runs_held())
        self._metrics.joins_wait(worker.joins_waiting())

    def _on_loop(self, ask: Callable[[], T]) -> T | None:
        async def answer() -> T:
            return ask()

        try:
            return asyncio.run_coroutine_threadsafe(answer(), self._loop).result(ANSWER_S)
        except (TimeoutError, CancelledError, RuntimeError):
            # It hangs, or it is being closed.
            return None
