"""The floor under every sink: rows that are encoded already, in ClickHouse's own format, posted and nothing else."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import NamedTuple

from clickhouse_connect.driver.client import Client

from tachograph.schemas.settings import Settings
from tachograph.sinks.clickhouse.client import connect
from tachograph.sinks.clickhouse.insert import SETTINGS
from tachograph.sinks.clickhouse.sink import INSERTS_AT_ONCE


class Block(NamedTuple):
    """Rows in Native format."""

    rows: int
    data: bytes


def encoded(client: Client, table: str, size: int) -> list[Block]:
    """The rows of a table, in blocks."""
    columns = ", ".join(columns_of(client, table))
    total = int(str(client.command(f"SELECT count() FROM {table}")))  # noqa: S608 - our own table
    return [
        Block(
            min(size, total - start),
            client.raw_query(
                f"SELECT {columns} FROM {table} ORDER BY _partition, _offset LIMIT {size} OFFSET {start}",  # noqa: S608 - our own table
                fmt="Native",
            ),
        )
        for start in range(0, total, size)
    ]


def columns_of(client: Client, table: str) -> list[str]:
    """Columns that an insert names."""
    described = client.query(f"DESCRIBE TABLE {table}").result_rows
    return [row[0] for row in described if row[2] not in {"MATERIALIZED", "ALIAS"}]


def posting_rate(settings: Settings, table: str, blocks: Sequence[Block], seconds: float) -> float:
    """Rows per second over so many seconds, as many inserts at once as the sink has, with the sink's settings.

    As long as the sink took: ClickHouse merges what it was given, and a rate of the first second would leave that out.
    """
    house = settings.clickhouse
    client = connect(house, house.migrate_user, house.migrate_password)
    columns = columns_of(client, f"{house.database}.{table}")

    def post(number: int) -> int:
        block = blocks[number % len(blocks)]
        client.raw_insert(
            f"{house.database}.{table}",
            column_names=columns,
            insert_block=block.data,
            fmt="Native",
            settings=SETTINGS | {"insert_deduplication_token": f"floor-{number}"},
        )
        return block.rows

    def post_for_a_while(first: int) -> int:
        rows = 0
        for number in count(first, INSERTS_AT_ONCE):
            if time.perf_counter() >= until:
                break
            rows += post(number)
        return rows

    for warming in range(INSERTS_AT_ONCE):
        post(warming)
    with ThreadPoolExecutor(INSERTS_AT_ONCE) as pool:
        began = time.perf_counter()
        until = began + seconds
        posted = sum(pool.map(post_for_a_while, range(INSERTS_AT_ONCE, 2 * INSERTS_AT_ONCE)))
        rate = posted / (time.perf_counter() - began)
    client.close()
    return rate
