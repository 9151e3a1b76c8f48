"""Prometheus metrics of the plug-in evaluators."""

from typing import Final

from prometheus_client import Counter, Gauge

from tachograph.schemas.metrics import EVALUATORS_ANSWERS, EVALUATORS_LAG

ANSWERS: Final = Counter(EVALUATORS_ANSWERS.name, EVALUATORS_ANSWERS.help, EVALUATORS_ANSWERS.labels)
LAG: Final = Gauge(EVALUATORS_LAG.name, EVALUATORS_LAG.help, EVALUATORS_LAG.labels)
