"""Names of every Prometheus metric, what it counts and its labels. Labels never carry content."""

from enum import StrEnum
from typing import Final, NamedTuple


class MetricKind(StrEnum):
    """How a metric moves."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(NamedTuple):
    """One metric."""

    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...] = ()


WORKER_RECORDS: Final = Metric(
    "tachograph_worker_records", MetricKind.COUNTER, "Records read from the events topic.", ("type",)
)
WORKER_OUTPUTS: Final = Metric(
    "tachograph_worker_outputs", MetricKind.COUNTER, "Messages written to output topics.", ("topic",)
)
WORKER_REPEATS: Final = Metric(
    "tachograph_worker_repeats", MetricKind.COUNTER, "Records skipped because the state already held them."
)
WORKER_DEAD_LETTERS: Final = Metric(
    "tachograph_worker_dead_letters", MetricKind.COUNTER, "Messages sent to the dead-letter topic.", ("error",)
)
WORKER_BATCH_SECONDS: Final = Metric(
    "tachograph_worker_batch_seconds", MetricKind.HISTOGRAM, "Time from a batch's first record to its acknowledgement."
)
WORKER_BATCH_RECORDS: Final = Metric(
    "tachograph_worker_batch_records", MetricKind.HISTOGRAM, "Records of one batch, repeats and dead letters included."
)
WORKER_LAG: Final = Metric(
    "tachograph_worker_lag",
    MetricKind.GAUGE,
    "Records of a partition this worker holds that are on the broker and not yet processed.",
    ("partition",),
)
WORKER_RUNS: Final = Metric(
    "tachograph_worker_runs",
    MetricKind.GAUGE,
    "Runs whose state is held: open ones, and those that ended less than an hour ago.",
)
WORKER_JOIN_PENDING: Final = Metric(
    "tachograph_worker_join_pending", MetricKind.GAUGE, "Tool calls that wait for their request or their result."
)
WORKER_EVALUATION_SECONDS: Final = Metric(
    "tachograph_worker_evaluation_seconds",
    MetricKind.HISTOGRAM,
    "Time spent on the checks of one decision event.",
)
SINK_ROWS: Final = Metric("tachograph_sink_rows", MetricKind.COUNTER, "Rows landed in ClickHouse.", ("table",))
SINK_REPEATS: Final = Metric(
    "tachograph_sink_repeats", MetricKind.COUNTER, "Rows left out because they had landed before.", ("table",)
)
SINK_POISON: Final = Metric(
    "tachograph_sink_poison_rows", MetricKind.COUNTER, "Rows that ClickHouse refused, now dead letters.", ("table",)
)
SINK_INSERT_SECONDS: Final = Metric(
    "tachograph_sink_insert_seconds", MetricKind.HISTOGRAM, "Time of one insert.", ("table",)
)
SINK_BATCH_ROWS: Final = Metric(
    "tachograph_sink_batch_rows", MetricKind.HISTOGRAM, "Rows of one planned range.", ("table",)
)
SINK_LAG: Final = Metric(
    "tachograph_sink_lag",
    MetricKind.GAUGE,
    "Messages of a partition this sink holds that are on the broker and have not landed.",
    ("topic", "partition"),
)
SEALER_RECORDS: Final = Metric(
    "tachograph_sealer_records", MetricKind.COUNTER, "Records sealed, by the status they got.", ("status",)
)
SEALER_BLOCKED: Final = Metric(
    "tachograph_sealer_blocked",
    MetricKind.COUNTER,
    "Rules that blocked a proposal; it is sealed all the same.",
    ("rule",),
)
SEALER_DEAD_LETTERS: Final = Metric(
    "tachograph_sealer_dead_letters", MetricKind.COUNTER, "Proposals that cannot be sealed, now dead letters."
)
SEALER_POSITION: Final = Metric(
    "tachograph_sealer_position", MetricKind.GAUGE, "Input offset that a partition is sealed up to.", ("partition",)
)
SEALER_HEADS: Final = Metric("tachograph_sealer_heads", MetricKind.COUNTER, "Heads records published.")
SEALER_ANCHOR_FAILURES: Final = Metric(
    "tachograph_sealer_anchor_failures", MetricKind.COUNTER, "Heads records that an anchor did not take.", ("anchor",)
)
ALERTS_READ: Final = Metric(
    "tachograph_alerts_violations", MetricKind.COUNTER, "Violations read by alerting.", ("kind",)
)
ALERTS_SENT: Final = Metric(
    "tachograph_alerts_deliveries",
    MetricKind.COUNTER,
    "Attempts at delivery by what came of them.",
    ("type", "outcome"),
)
ALERTS_WAITING: Final = Metric(
    "tachograph_alerts_waiting", MetricKind.GAUGE, "Alerts read and not yet delivered to all who hear of them."
)
ALERTS_LAG: Final = Metric(
    "tachograph_alerts_lag",
    MetricKind.GAUGE,
    "Violations of a partition this process holds that are on the broker and not yet delivered.",
    ("topic", "partition"),
)
SNAPSHOTS_CAPTURES: Final = Metric(
    "tachograph_snapshots_captures",
    MetricKind.COUNTER,
    "Captures that a fault or a sample asked for: `stored`, or `missing` from the artifact store.",
    ("outcome",),
)
SNAPSHOTS_LAG: Final = Metric(
    "tachograph_snapshots_lag",
    MetricKind.GAUGE,
    "Messages of a partition this step holds that are on the broker and not yet looked at.",
    ("topic", "partition"),
)
EVALUATORS_ANSWERS: Final = Metric(
    "tachograph_evaluators_answers",
    MetricKind.COUNTER,
    "Events handed to a plug-in: `answered`, or why not (`timeout`, `overload`, `error`, `stopped`).",
    ("plugin", "outcome"),
)
EVALUATORS_LAG: Final = Metric(
    "tachograph_evaluators_lag",
    MetricKind.GAUGE,
    "Messages of a partition this process holds that are on the broker and not yet judged.",
    ("topic", "partition"),
)
SLO_EVALUATIONS: Final = Metric(
    "tachograph_slo_evaluations",
    MetricKind.COUNTER,
    "Evaluations of all objectives: `done`, or `failed` and tried again.",
    ("outcome",),
)
SLO_EVALUATED: Final = Metric(
    "tachograph_slo_evaluated_timestamp_seconds",
    MetricKind.GAUGE,
    "When objectives were last evaluated, in Unix time; 0 where another evaluator has been at work.",
)
SLO_REFUSED: Final = Metric(
    "tachograph_slo_refused_objectives", MetricKind.GAUGE, "Objectives whose query ClickHouse refuses."
)
SPOOL_RECORDS: Final = Metric(
    "tachograph_spool_records", MetricKind.COUNTER, "Records by what became of them.", ("state",)
)
SPOOL_BYTES: Final = Metric("tachograph_spool_bytes", MetricKind.GAUGE, "Bytes waiting in the spool.")

METRICS: Final = (
    WORKER_RECORDS,
    WORKER_OUTPUTS,
    WORKER_REPEATS,
    WORKER_DEAD_LETTERS,
    WORKER_BATCH_SECONDS,
    WORKER_BATCH_RECORDS,
    WORKER_LAG,
    WORKER_RUNS,
    WORKER_JOIN_PENDING,
    WORKER_EVALUATION_SECONDS,
    SINK_ROWS,
    SINK_REPEATS,
    SINK_POISON,
    SINK_INSERT_SECONDS,
    SINK_BATCH_ROWS,
    SINK_LAG,
    SEALER_RECORDS,
    SEALER_BLOCKED,
    SEALER_DEAD_LETTERS,
    SEALER_POSITION,
    SEALER_HEADS,
    SEALER_ANCHOR_FAILURES,
    ALERTS_READ,
    ALERTS_SENT,
    ALERTS_WAITING,
    ALERTS_LAG,
    SNAPSHOTS_CAPTURES,
    SNAPSHOTS_LAG,
    EVALUATORS_ANSWERS,
    EVALUATORS_LAG,
    SLO_EVALUATIONS,
    SLO_EVALUATED,
    SLO_REFUSED,
    SPOOL_RECORDS,
    SPOOL_BYTES,
)
"""Every metric there is."""
