"""Sink rows/s against decode-and-insert, and against the floor: the same rows, encoded beforehand, posted as they are.

All three write to the same table, with the same rollups behind it. Rows are those of tool calls, the smallest there are
(300 bytes in 45 columns), and of events (2 KB): what parsing Avro costs ClickHouse goes with the columns, what the
floor costs goes with the bytes.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import clickhouse_connect
from clickhouse_connect.driver.client import Client

from benchmarks import decoding_sink, native_floor
from benchmarks.report import Ratio, Result
from benchmarks.workload import event_rows, load, steady_rate, tool_call_rows
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import row_topic

ROWS = 400_000
EVENTS = "decision_events"
EVENT_ROWS = 100_000
BATCH = "10000"
GOAL = 2.0
FLOOR_GOAL = 0.4


def measure(settings: Settings, folder: Path) -> list[Result]:
    """Land tool calls with both sinks and at the floor, then events with ours and at the floor."""
    client = clickhouse_connect.get_client(
        host=settings.clickhouse.host,
        port=settings.clickhouse.http_port,
        username=settings.clickhouse.migrate_user,
        password=settings.clickhouse.migrate_password.get_secret_value(),
        database=settings.clickhouse.database,
    )
    calls, ours = decoding_sink.SOURCE, ["-m", "tachograph.console.main", "sink", "--instance", "bench"]
    theirs = ["-m", "benchmarks.decoding_sink", str(settings.home)]
    partitions = settings.kafka.partitions
    _load(settings, calls, tool_call_rows(ROWS, partitions))
    rate, floor = _rate_and_floor(settings, folder, client, ours, calls, rows=ROWS)
    reference = landing_rate(settings, folder, client, theirs, calls, rows=ROWS)
    _load(settings, EVENTS, event_rows(EVENT_ROWS, partitions))
    event_rate, event_floor = _rate_and_floor(settings, folder, client, ours, EVENTS, rows=EVENT_ROWS)
    posted = "encoded rows posted as they are"
    return [
        Ratio("sink without decoding", rate, "decode and insert", reference, GOAL, "rows/s"),
        Ratio("sink without decoding, rows of 300 bytes", rate, posted, floor, FLOOR_GOAL, "rows/s"),
        Ratio("sink without decoding, rows of 2 KB", event_rate, posted, event_floor, FLOOR_GOAL, "rows/s"),
    ]


def _load(settings: Settings, table: str, rows: Iterable[tuple[int, bytes, list[tuple[str, bytes]]]]) -> None:
    messages = ({"partition": partition, "value": value, "headers": headers} for partition, value, headers in rows)
    load(settings, row_topic(table), messages)


def _rate_and_floor(
    settings: Settings, folder: Path, client: Client, command: Sequence[str], table: str, *, rows: int
) -> tuple[float, float]:
    """Rows a second of the sink, and of posting what it landed; the floor is measured as long as the sink ran."""
    rate = landing_rate(settings, folder, client, command, table, rows=rows)
    blocks = native_floor.encoded(client, table, int(BATCH))
    client.command(f"TRUNCATE TABLE {table}")
    floor = native_floor.posting_rate(settings, table, blocks, rows / rate)
    client.command(f"TRUNCATE TABLE {table}")
    return rate, floor


def landing_rate(
    settings: Settings, folder: Path, client: Client, command: Sequence[str], table: str, *, rows: int
) -> float:
    """Run one sink until all rows have landed."""
    environment = os.environ | {"TACHOGRAPH_HOME": str(settings.home), "TACHOGRAPH_SINK__BATCH_ROWS": BATCH}

    def landed() -> int:
        count: int = client.query(f"SELECT count() FROM {table}").result_rows[0][0]  # noqa: S608 - our own table
        return count

    with (folder / f"{table}.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, *command], env=environment, stdout=log, stderr=log)
        try:
            return steady_rate(landed, rows)
        finally:
            process.terminate()
            process.wait(30)
