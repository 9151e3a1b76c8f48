"""Prometheus metrics of the snapshot step."""

from typing import Final

from prometheus_client import Counter, Gauge

from tachograph.schemas.metrics import SNAPSHOTS_CAPTURES, SNAPSHOTS_LAG

CAPTURES: Final = Counter(SNAPSHOTS_CAPTURES.name, SNAPSHOTS_CAPTURES.help, SNAPSHOTS_CAPTURES.labels)
LAG: Final = Gauge(SNAPSHOTS_LAG.name, SNAPSHOTS_LAG.help, SNAPSHOTS_LAG.labels)
