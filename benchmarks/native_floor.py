"""The floor under every sink: rows that are encoded already, in ClickHouse's own format, posted and nothing else."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from clickhouse_connect.driver.client import Client

from tachograph.schemas.settings import Settings
from tachograph.sinks.clickhouse.client import connect
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


def posting_rate(settings: Settings, table: str, blocks: Sequence[Block]) -> float:
    """Rows per second, as many inserts at once as the sink has."""
    house = settings.clickhouse
    client = connect(house, house.migrate_user, house.migrate_password)
    columns = columns_of(client, f"{house.database}.{table}")
    # The server has the same work as behind the sink: tokens, also for the rollups.
    settled = {"async_insert": 0, "max_insert_threads": 1, "deduplicate_blocks_in_dependent_materialized_views": 1}

    def post(numbered: tuple[int, Block]) -> None:
        number, block = numbered
        client.raw_insert(
            f"{house.database}.{table}",
            column_names=columns,
            insert_block=block.data,
            fmt="Native",
            settings=settled | {"insert_deduplication_token": f"floor-{number}"},
        )

    with ThreadPoolExecutor(INSERTS_AT_ONCE) as pool:
        post((-1, blocks[0]))
        began = time.perf_counter()
        list(pool.map(post, enumerate(blocks)))
        rate = sum(block.rows for block in blocks) / (time.perf_counter() - began)
    client.close()
    return rate
