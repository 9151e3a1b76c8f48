"""The sink's Prometheus metrics. Counted once per insert, never per row."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from tachograph.schemas.metrics import (
    SINK_BATCH_ROWS,
    SINK_INSERT_SECONDS,
    SINK_LAG,
    SINK_POISON,
    SINK_REPEATS,
    SINK_ROWS,
)

ROWS: Final = Counter(SINK_ROWS.name, SINK_ROWS.help, SINK_ROWS.labels)
REPEATS: Final = Counter(SINK_REPEATS.name, SINK_REPEATS.help, SINK_REPEATS.labels)
POISON: Final = Counter(SINK_POISON.name, SINK_POISON.help, SINK_POISON.labels)
INSERT_SECONDS: Final = Histogram(SINK_INSERT_SECONDS.name, SINK_INSERT_SECONDS.help, SINK_INSERT_SECONDS.labels)
BATCH_ROWS: Final = Histogram(
    SINK_BATCH_ROWS.name,
    SINK_BATCH_ROWS.help,
    SINK_BATCH_ROWS.labels,
    buckets=(1, 10, 100, 500, 1000, 2500, 5000, 10_000, 20_000, 50_000),
)
LAG: Final = Gauge(SINK_LAG.name, SINK_LAG.help, SINK_LAG.labels)
