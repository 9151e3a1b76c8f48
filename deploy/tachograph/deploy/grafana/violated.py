"""Panels of violations, without those of objectives. ``found`` is the condition: whose, and when."""

from tachograph.deploy.grafana.panel import Panel


def by_kind(found: str) -> Panel:
    """Kinds over time."""
    return Panel(
        title="Violations by kind",
        says="Of every environment. Objectives have a dashboard of their own.",
        kind="timeseries",
        bars=True,
        stacked=True,
        sql=f"""\
SELECT $__timeInterval(occurred_at) AS time, toString(kind) AS kind, uniqExact(violation_id) AS violations
FROM violations {found} AND kind != 'slo'
GROUP BY time, kind
ORDER BY time, kind""",
    )


def by_severity(found: str) -> Panel:
    """Severities over time."""
    return Panel(
        title="Violations by severity",
        says="Of every environment.",
        kind="timeseries",
        bars=True,
        stacked=True,
        sql=f"""\
SELECT $__timeInterval(occurred_at) AS time, toString(severity) AS severity, uniqExact(violation_id) AS violations
FROM violations {found} AND kind != 'slo'
GROUP BY time, severity
ORDER BY time, severity""",
    )


def codes(found: str) -> Panel:
    """One line for each code."""
    return Panel(
        title="What was violated",
        says="Codes, how often, and in how many runs.",
        kind="table",
        sql=f"""\
SELECT
    kind,
    code,
    severity,
    uniqExact(violation_id) AS violations,
    uniqExact(run_id) AS runs,
    max(occurred_at) AS last_seen
FROM violations {found} AND kind != 'slo'
GROUP BY kind, code, severity
ORDER BY violations DESC, code
LIMIT 100""",
    )
