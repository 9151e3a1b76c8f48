"""Prometheus counters of the worker, added to once per batch."""

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram

from tachograph.processors.batch import Batch
from tachograph.schemas import metrics


class WorkerMetrics:
    """Counts what batches did."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._records = _counter(metrics.WORKER_RECORDS, registry)
        self._outputs = _counter(metrics.WORKER_OUTPUTS, registry)
        self._repeats = _counter(metrics.WORKER_REPEATS, registry)
        self._dead_letters = _counter(metrics.WORKER_DEAD_LETTERS, registry)
        seconds = metrics.WORKER_BATCH_SECONDS
        self._seconds = Histogram(seconds.name, seconds.help, registry=registry)

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


def _counter(metric: metrics.Metric, registry: CollectorRegistry) -> Counter:
    return Counter(metric.name, metric.help, metric.labels, registry=registry)
