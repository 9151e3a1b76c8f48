"""docs/scaling.md shows what the arithmetic says."""

import itertools
from pathlib import Path

from benchmarks.scaling import LOADS, Costs, plan, table

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"


def test_the_table_does_not_drift() -> None:
    """If this fails: put what `python -m benchmarks.scaling` prints between the page's two marks."""
    text = PAGE.read_text(encoding="utf-8").split("python -m benchmarks.scaling -->\n")[1].split("\n<!-- end")[0]
    assert text.splitlines() == list(table())


def test_more_load_never_needs_less() -> None:
    """And a process is never planned to be busier than half of its time."""
    costs = Costs(1000, 10_000, 50, 2, 2000, 1000)
    plans = [plan(load, costs) for load in LOADS]
    for less, more in itertools.pairwise(plans):
        assert more.partitions >= less.partitions
        assert more.clickhouse_cores >= less.clickhouse_cores
    for found in plans:
        assert found.partitions >= found.workers >= found.events_s / costs.worker_events_s
        assert found.sinks * costs.sink_rows_s >= 2 * found.events_s * costs.rows_per_event
