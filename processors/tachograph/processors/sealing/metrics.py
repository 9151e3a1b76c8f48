"""Prometheus metrics of the sealer."""

from typing import Final

from prometheus_client import Counter, Gauge

from tachograph.schemas import metrics

RECORDS: Final = Counter(metrics.SEALER_RECORDS.name, metrics.SEALER_RECORDS.help, metrics.SEALER_RECORDS.labels)
BLOCKED: Final = Counter(metrics.SEALER_BLOCKED.name, metrics.SEALER_BLOCKED.help, metrics.SEALER_BLOCKED.labels)
DEAD_LETTERS: Final = Counter(metrics.SEALER_DEAD_LETTERS.name, metrics.SEALER_DEAD_LETTERS.help)
POSITION: Final = Gauge(metrics.SEALER_POSITION.name, metrics.SEALER_POSITION.help, metrics.SEALER_POSITION.labels)
HEADS: Final = Counter(metrics.SEALER_HEADS.name, metrics.SEALER_HEADS.help)
ANCHOR_FAILURES: Final = Counter(
    metrics.SEALER_ANCHOR_FAILURES.name, metrics.SEALER_ANCHOR_FAILURES.help, metrics.SEALER_ANCHOR_FAILURES.labels
)
