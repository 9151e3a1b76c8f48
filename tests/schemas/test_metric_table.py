"""The table of metrics in the operator's page is the registry."""

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from tachograph.processors.metrics import WorkerMetrics
from tachograph.schemas.metric_table import metric_table, with_table
from tachograph.schemas.metrics import METRICS

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


def test_the_page_is_up_to_date() -> None:
    """If this fails: python -m tachograph.schemas.metric_table."""
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page) == page


def test_every_metric_has_its_line() -> None:
    """And a heading of two lines."""
    table = metric_table()
    assert len(table.splitlines()) == len(METRICS) + 2
    assert all(f"| `{metric.name}" in table for metric in METRICS)


def test_a_page_without_a_place_is_refused() -> None:
    """It is not written over."""
    with pytest.raises(ValueError, match="needs a line"):
        with_table("# A page\n")


def test_a_worker_serves_every_metric_of_its_own() -> None:
    """Under the names of the registry, before anything has happened."""
    registry = CollectorRegistry()
    WorkerMetrics(registry)
    served = generate_latest(registry).decode()
    assert all(metric.name in served for metric in METRICS if metric.name.startswith("tachograph_worker"))
