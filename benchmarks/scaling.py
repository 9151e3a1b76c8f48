"""How much of everything a load needs, from what one of each was measured to do. ``python -m benchmarks.scaling``.

Pure arithmetic over measured costs. docs/scaling.md shows the table, and a test compares the two; measure your own with
``make bench`` before you buy anything.
"""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Costs:
    """What one of each does."""

    worker_events_s: float
    """Events that one worker process handles in a second, on one core."""
    sink_rows_s: float
    """Rows that one sink process lands in a second."""
    clickhouse_row_us: float
    """Processor time that ClickHouse spends on a row: parsing, guards, rollups, writing."""
    rows_per_event: float
    """Rows that an event becomes: of the demo's records, with evaluations and context items."""
    event_bytes: float
    """Size of an event in Kafka."""
    row_bytes: float
    """Size of a row in Kafka."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a load needs."""

    events_s: int
    partitions: int
    workers: int
    sinks: int
    clickhouse_cores: int
    shards: int
    rows_a_day: float
    kafka_tb: float
    clickhouse_tb: float


MEASURED: Final = Costs(
    worker_events_s=4_800,  # make bench, worker: every built-in check on, events of 2 KB
    sink_rows_s=48_000,  # make bench, sink: 38,000 events or 108,000 tool calls a second, in the mix below
    clickhouse_row_us=26,  # 16 for a tool call, 32 for an event of 2 KB, guards and rollups included
    rows_per_event=1.5,  # 119 rows from 78 records of the demo
    event_bytes=2_160,
    row_bytes=1_200,  # 277 for a tool call, 2,140 for an event
)
"""On a quiet machine with two cores, which broker and database shared with what was measured."""

BUSY: Final = 0.5
"""Share of its time that a process should be busy: the rest is for peaks, rebalances and catching up."""
CORES_PER_SHARD: Final = 16
MERGES: Final = 2.0
"""Cores for merges and queries beside each core that takes inserts. An assumption, not a measurement."""
COMPRESSION: Final = 0.25
"""Bytes on disk for a byte in Kafka. An assumption: texts differ."""
KAFKA_DAYS, KAFKA_COPIES = 7, 3
ROW_DAYS, ROW_COPIES = 180, 2
LOADS: Final = (1_000, 10_000, 100_000, 1_000_000)


def plan(events_s: int, costs: Costs = MEASURED) -> Plan:
    """The least that carries the load."""
    rows_s = events_s * costs.rows_per_event
    workers = math.ceil(events_s / (costs.worker_events_s * BUSY))
    cores = math.ceil(rows_s * costs.clickhouse_row_us / 1e6 / BUSY * (1 + MERGES))
    day = 86_400
    kafka_bytes = (events_s * costs.event_bytes + rows_s * costs.row_bytes) * KAFKA_DAYS * day * KAFKA_COPIES
    return Plan(
        events_s=events_s,
        partitions=max(4, 1 << math.ceil(math.log2(workers))),
        workers=workers,
        sinks=math.ceil(rows_s / (costs.sink_rows_s * BUSY)),
        clickhouse_cores=cores,
        shards=math.ceil(cores / CORES_PER_SHARD),
        rows_a_day=rows_s * day,
        kafka_tb=kafka_bytes * COMPRESSION / 1e12,
        clickhouse_tb=rows_s * costs.row_bytes * day * ROW_DAYS * ROW_COPIES * COMPRESSION / 1e12,
    )


def table(costs: Costs = MEASURED) -> Iterator[str]:
    """The table as Markdown."""
    yield (
        "| events/s | partitions | workers | sinks | ClickHouse cores | shards | rows a day | Kafka, 7 d | "
        "ClickHouse, 180 d |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for load in LOADS:
        found = plan(load, costs)
        yield (
            f"| {found.events_s:,} | {found.partitions:,} | {found.workers:,} | {found.sinks:,} | "
            f"{found.clickhouse_cores:,} | {found.shards:,} | {found.rows_a_day / 1e9:,.2f} billion | "
            f"{found.kafka_tb:,.1f} TB | {found.clickhouse_tb:,.1f} TB |"
        )


if __name__ == "__main__":
    sys.stdout.write("\n".join(table()) + "\n")
