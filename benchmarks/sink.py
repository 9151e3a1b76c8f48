"""Sink rows/s against decode-and-insert, and against the floor: the same rows, encoded beforehand, posted as they are.

All three write to the same table, with the same rollups behind it.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import clickhouse_connect
from clickhouse_connect.driver.client import Client

from benchmarks import decoding_sink, native_floor
from benchmarks.report import Ratio, Result
from benchmarks.workload import load, steady_rate, tool_call_rows
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import row_topic

ROWS = 400_000
BATCH = "10000"
GOAL = 2.0
FLOOR_GOAL = 0.4


def measure(settings: Settings, folder: Path) -> list[Result]:
    """Load the rows once; land them with both sinks, one after the other."""
    load(
        settings,
        row_topic(decoding_sink.SOURCE),
        (
            {"partition": partition, "value": value, "headers": headers}
            for partition, value, headers in tool_call_rows(ROWS, settings.kafka.partitions)
        ),
    )
    client = clickhouse_connect.get_client(
        host=settings.clickhouse.host,
        port=settings.clickhouse.http_port,
        username=settings.clickhouse.migrate_user,
        password=settings.clickhouse.migrate_password.get_secret_value(),
        database=settings.clickhouse.database,
    )
    table = decoding_sink.SOURCE
    ours = ["-m", "tachograph.console.main", "sink", "--instance", "bench"]
    theirs = ["-m", "benchmarks.decoding_sink", str(settings.home)]
    rate = landing_rate(settings, folder, client, ours, table)
    blocks = native_floor.encoded(client, table, int(BATCH))
    client.command(f"TRUNCATE TABLE {table}")
    floor = native_floor.posting_rate(settings, table, blocks, ROWS / rate)
    client.command(f"TRUNCATE TABLE {table}")
    reference = landing_rate(settings, folder, client, theirs, table)
    return [
        Ratio("sink without decoding", rate, "decode and insert", reference, GOAL, "rows/s"),
        Ratio("sink without decoding", rate, "encoded rows posted as they are", floor, FLOOR_GOAL, "rows/s"),
    ]


def landing_rate(settings: Settings, folder: Path, client: Client, command: Sequence[str], table: str) -> float:
    """Run one sink until all rows have landed."""
    environment = os.environ | {"TACHOGRAPH_HOME": str(settings.home), "TACHOGRAPH_SINK__BATCH_ROWS": BATCH}

    def landed() -> int:
        count: int = client.query(f"SELECT count() FROM {table}").result_rows[0][0]  # noqa: S608 - our own table
        return count

    with (folder / f"{table}.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, *command], env=environment, stdout=log, stderr=log)
        try:
            return steady_rate(landed, ROWS)
        finally:
            process.terminate()
            process.wait(30)
