"""Prometheus metrics of the evaluator of objectives."""

from typing import Final

from prometheus_client import Counter, Gauge

from tachograph.schemas.metrics import SLO_EVALUATED, SLO_EVALUATIONS, SLO_REFUSED

EVALUATIONS: Final = Counter(SLO_EVALUATIONS.name, SLO_EVALUATIONS.help, SLO_EVALUATIONS.labels)
EVALUATED: Final = Gauge(SLO_EVALUATED.name, SLO_EVALUATED.help, SLO_EVALUATED.labels)
REFUSED: Final = Gauge(SLO_REFUSED.name, SLO_REFUSED.help, SLO_REFUSED.labels)
