"""What worker, sink and sealer say of themselves: lag, rates, times."""

from typing import Final

from tachograph.deploy.grafana.panel import Panel
from tachograph.schemas import metrics
from tachograph.schemas.metrics import Metric, MetricKind

_RATE: Final = "[$__rate_interval]"


def processes() -> list[Panel]:
    """From Prometheus, by the names of the registry."""
    return [
        Panel(
            title="Processes that answer",
            says="Every process that serves metrics, by Prometheus' own look at them.",
            kind="timeseries",
            promql={"sum by (job) (up{job=~'tachograph.*'})": "{{job}}"},
        ),
        Panel(
            title="Worker lag",
            says="Records on the broker that are not processed. Growing for minutes: start more workers.",
            kind="timeseries",
            steps=((10_000, "orange"), (100_000, "red")),
            promql={f"sum(max by (partition) ({_name(metrics.WORKER_LAG)}))": "records"},
        ),
        Panel(
            title="Sink lag",
            says="Messages on the broker that have not landed. Growing: ClickHouse is slow, or start more sinks.",
            kind="timeseries",
            steps=((10_000, "orange"), (100_000, "red")),
            promql={f"sum by (topic) (max by (topic, partition) ({_name(metrics.SINK_LAG)}))": "{{topic}}"},
        ),
        Panel(
            title="Records in",
            says="Records a second that workers read, by type, and repeats that they skipped.",
            kind="timeseries",
            unit="ops",
            promql={
                f"sum by (type) (rate({_name(metrics.WORKER_RECORDS)}{_RATE}))": "{{type}}",
                f"sum(rate({_name(metrics.WORKER_REPEATS)}{_RATE}))": "repeats",
            },
        ),
        Panel(
            title="Rows out",
            says="Rows a second that sinks landed, by table, and repeats that they left out.",
            kind="timeseries",
            unit="ops",
            promql={
                f"sum by (table) (rate({_name(metrics.SINK_ROWS)}{_RATE}))": "{{table}}",
                f"sum(rate({_name(metrics.SINK_REPEATS)}{_RATE}))": "repeats",
            },
        ),
        Panel(
            title="Dead letters and refused rows",
            says="A second. Any rate is worth a look; past its limit the worker stops.",
            kind="timeseries",
            unit="ops",
            steps=((0.01, "orange"), (1, "red")),
            promql={
                f"sum by (error) (rate({_name(metrics.WORKER_DEAD_LETTERS)}{_RATE}))": "worker: {{error}}",
                f"sum by (table) (rate({_name(metrics.SINK_POISON)}{_RATE}))": "sink: {{table}}",
                f"sum(rate({_name(metrics.SEALER_DEAD_LETTERS)}{_RATE}))": "sealer",
            },
        ),
        Panel(
            title="Time of a batch and of an insert",
            says="95th percentile: from a batch's first record to its acknowledgement, and of one insert.",
            kind="timeseries",
            unit="s",
            steps=((5, "orange"), (30, "red")),
            promql={
                _p95(metrics.WORKER_BATCH_SECONDS): "worker's batch",
                _p95(metrics.SINK_INSERT_SECONDS): "sink's insert",
            },
        ),
        Panel(
            title="What workers hold",
            says="Runs whose state is held, and tool calls that wait for their other half.",
            kind="timeseries",
            promql={
                f"sum({_name(metrics.WORKER_RUNS)})": "runs",
                f"sum({_name(metrics.WORKER_JOIN_PENDING)})": "waiting tool calls",
            },
        ),
        Panel(
            title="Sealing",
            says="Records sealed a second by status, and heads that an anchor did not take.",
            kind="timeseries",
            unit="ops",
            promql={
                f"sum by (status) (rate({_name(metrics.SEALER_RECORDS)}{_RATE}))": "{{status}}",
                f"sum by (anchor) (rate({_name(metrics.SEALER_ANCHOR_FAILURES)}{_RATE}))": "anchor {{anchor}} failed",
            },
        ),
    ]


def _name(metric: Metric) -> str:
    """As Prometheus knows it."""
    return f"{metric.name}_total" if metric.kind is MetricKind.COUNTER else metric.name


def _p95(metric: Metric) -> str:
    return f"histogram_quantile(0.95, sum by (le) (rate({metric.name}_bucket{_RATE})))"
