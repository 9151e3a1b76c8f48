"""Panels of models, from the rollups by the minute. ``used`` is the condition: whose calls, and when."""

from tachograph.deploy.grafana.panel import Column, Panel
from tachograph.deploy.grafana.variables import NOT_BY_ENVIRONMENT


def tokens_by_model(used: str) -> Panel:
    """Tokens over time."""
    return Panel(
        title="Tokens by model",
        says=f"Sent and received. {NOT_BY_ENVIRONMENT}",
        kind="timeseries",
        bars=True,
        stacked=True,
        sql=f"""\
SELECT
    $__timeInterval(minute) AS time,
    toString(model) AS model,
    sum(input_tokens) AS sent,
    sum(output_tokens) AS received
FROM model_usage_by_minute {used}
GROUP BY time, model
ORDER BY time, model""",
    )


def cost_by_model(used: str) -> Panel:
    """Dollars over time."""
    return Panel(
        title="Cost by model",
        says=f"Models without a price are not in it; the table counts their calls. {NOT_BY_ENVIRONMENT}",
        kind="timeseries",
        bars=True,
        stacked=True,
        unit="currencyUSD",
        sql=f"""\
SELECT $__timeInterval(minute) AS time, toString(model) AS model, toFloat64(sum(ifNull(cost_usd, 0))) AS usd
FROM model_usage_by_minute {used}
GROUP BY time, model
ORDER BY time, model""",
    )


def model_latencies(used: str) -> Panel:
    """How long answers take, over time."""
    return Panel(
        title="How fast models answer",
        says=f"95th percentile, within 1 %. {NOT_BY_ENVIRONMENT}",
        kind="timeseries",
        unit="ms",
        steps=((30_000, "red"),),
        sql=f"""\
WITH quantilesDDMerge(0.01, 0.5, 0.9, 0.95, 0.99)(latency_ms) AS latencies
SELECT $__timeInterval(minute) AS time, toString(model) AS model, latencies[3] AS p95
FROM model_minutes {used}
GROUP BY time, model
HAVING sum(timed) > 0
ORDER BY time, model""",
    )


def models(used: str, *, width: int = 8) -> Panel:
    """One line for each model."""
    return Panel(
        title="Models",
        says=f"Calls without an answer count as failed. {NOT_BY_ENVIRONMENT}",
        kind="table",
        columns={
            "failed": Column(unit="percentunit", steps=((0.05, "orange"), (0.2, "red"))),
            "usd": Column(unit="currencyUSD"),
            "without_price": Column(steps=((1, "orange"),)),
            "unknown_usage": Column(steps=((1, "orange"),)),
        },
        sql=f"""\
SELECT
    provider,
    model,
    sum(calls) AS called,
    sum(errors) / sum(calls) AS failed,
    sum(input_tokens) AS sent,
    sum(output_tokens) AS received,
    toFloat64(sum(ifNull(cost_usd, 0))) AS usd,
    sum(unpriced_calls) AS without_price,
    sum(without_usage) AS unknown_usage
FROM model_usage_by_minute {used}
GROUP BY provider, model
ORDER BY called DESC, model""",
        width=width,
    )
