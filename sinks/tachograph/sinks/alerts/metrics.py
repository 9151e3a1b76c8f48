"""Alerting's Prometheus metrics."""

from typing import Final

from prometheus_client import Counter, Gauge

from tachograph.schemas.metrics import ALERTS_LAG, ALERTS_READ, ALERTS_SENT, ALERTS_WAITING

READ: Final = Counter(ALERTS_READ.name, ALERTS_READ.help, ALERTS_READ.labels)
SENT: Final = Counter(ALERTS_SENT.name, ALERTS_SENT.help, ALERTS_SENT.labels)
WAITING: Final = Gauge(ALERTS_WAITING.name, ALERTS_WAITING.help, ALERTS_WAITING.labels)
LAG: Final = Gauge(ALERTS_LAG.name, ALERTS_LAG.help, ALERTS_LAG.labels)
