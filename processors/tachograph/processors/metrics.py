"""Prometheus metrics of the worker: counted once per batch, looked at when somebody asks."""

from collections.abc import Mapping
from typing import Final

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from tachograph.processors.batch import Batch
from tachograph.schemas import metrics

_RECORDS_BUCKETS: Final = (1, 10, 50, 100, 250, 500, 1000, 2000, 5000, 20_000)
_EVALUATION_BUCKETS: Final = (0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.25, 1.0)
"""Built-in checks take tens of microseconds; a quarter of a second is a check that should not be in the stream."""


class WorkerMetrics:
    """Counts what batches did, and says how things stand."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self.registry = registry
        self._records = _counter(metrics.WORKER_RECORDS, registry)
        self._outputs = _counter(metrics.WORKER_OUTPUTS, registry)
        self._repeats = _counter(metrics.WORKER_REPEATS, registry)
        self._dead_letters = _counter(metrics.WORKER_DEAD_LETTERS, registry)
        seconds, size = metrics.WORKER_BATCH_SECONDS, metrics.WORKER_BATCH_RECORDS
        self._seconds = Histogram(seconds.name, seconds.help, registry=registry)
        self._size = Histogram(size.name, size.help, buckets=_RECORDS_BUCKETS, registry=registry)
        evaluation = metrics.WORKER_EVALUATION_SECONDS
        self._evaluation = Histogram(evaluation.name, evaluation.help, buckets=_EVALUATION_BUCKETS, registry=registry)
        self._lag = _gauge(metrics.WORKER_LAG, registry)
        self._runs = _gauge(metrics.WORKER_RUNS, registry)
        self._join_pending = _gauge(metrics.WORKER_JOIN_PENDING, registry)

    def add(self, batch: Batch, seconds: float) -> None:
        """A batch was stored and acknowledged."""
        for name, count in batch.records.items():
            self._records.labels(name).inc(count)
        for error, count in batch.dead_letters.items():
            self._dead_letters.labels(error).inc(count)
        for topic, count in batch.outputs().items():
            self._outputs.labels(topic).inc(count)
        self._repeats.inc(batch.repeats)
        self._seconds.observe(seconds)
        self._size.observe(batch.records.total() + batch.dead_letters.total() + batch.repeats)

    def evaluated(self, seconds: float) -> None:
        """The checks of one decision event took this long."""
        self._evaluation.observe(seconds)

    def joins_wait(self, count: int) -> None:
        """So many tool calls lack their request or their result."""
        self._join_pending.set(count)

    def stands(self, *, lag: Mapping[int, int], runs: int) -> None:
        """How things stand now. Partitions that are not named are no longer this worker's."""
        self._lag.clear()
        for partition, records in lag.items():
            self._lag.labels(str(partition)).set(records)
        self._runs.set(runs)


def _counter(metric: metrics.Metric, registry: CollectorRegistry) -> Counter:
    return Counter(metric.name, metric.help, metric.labels, registry=registry)


def _gauge(metric: metrics.Metric, registry: CollectorRegistry) -> Gauge:
    return Gauge(metric.name, metric.help, metric.labels, registry=registry)
