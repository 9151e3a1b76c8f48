"""One insert: a file of rows into a table, under a token that names exactly these rows."""

import time
from collections.abc import Sequence
from typing import Final, Protocol

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import Error

from tachograph.schemas.settings import ClickHouseSettings
from tachograph.sinks.clickhouse import metrics
from tachograph.sinks.clickhouse.bisect import Refused, land_all_but_refused
from tachograph.sinks.clickhouse.block import Rows
from tachograph.sinks.clickhouse.client import connect, translated
from tachograph.sinks.errors import RowsRefusedError

SETTINGS: Final = {
    "async_insert": 0,  # on by default since 26: it would acknowledge what it has not written and drop the token
    "insert_deduplicate": 1,
    # Views feed the rollups: a repeat must be dropped there too, one by one, as a server may be killed in between.
    "deduplicate_blocks_in_dependent_materialized_views": 1,
    # On a cluster: acknowledge what the shards have, not what waits on the way to them.
    "distributed_foreground_insert": 1,
    # Sorting keys end in partition and offset, or in an id that one writer gives once: a block holds next to nothing to
    # collapse. Looking for it cost 6 of 15 µs a row; merges look anyway.
    "optimize_on_insert": 0,
    # On a cluster: a replica that is read-only says so in seconds. By default it tries for minutes, and the sink, which
    # pauses meanwhile and tries again itself, would hear of a request that was not answered.
    "insert_keeper_max_retries": 2,
    "max_insert_threads": 1,  # one insert stays one block, so that it lands whole or not at all
    # Tables are partitioned by the month of the broker's time. A range that spans more than the default of 100 months
    # is odd, but refusing it would block its partition for good.
    "max_partitions_per_insert_block": 0,
}
"""Settings of every insert, beside its token."""


class Inserts(Protocol):
    """Where rows land. Called from several threads at once."""

    def insert(self, table: str, columns: Sequence[str], file: bytes, token: str) -> None:
        """Land a file whole, or not at all if the token has landed before.

        Raises RowsRefusedError, a TransientError or a StopError.
        """


class ClickHouseInserts:
    """Inserts over HTTP, under the account that may do nothing else."""

    def __init__(self, settings: ClickHouseSettings, client: Client | None = None) -> None:
        self._database = settings.database
        self._who = f"{settings.sink_user} at {settings.address}"
        self._client = client or connect(settings, settings.sink_user, settings.sink_password)

    def insert(self, table: str, columns: Sequence[str], file: bytes, token: str) -> None:
        """Post the file."""
        began = time.perf_counter()
        try:
            self._client.raw_insert(
                f"`{self._database}`.`{table}`",
                column_names=columns,
                insert_block=file,
                fmt="Avro",
                settings=SETTINGS | {"insert_deduplication_token": token},
            )
        except Error as error:
            # Not chained: ClickHouse's text may quote the row.
            raise translated(error, self._who) from None
        metrics.INSERT_SECONDS.labels(table).observe(time.perf_counter() - began)

    def close(self) -> None:
        """Close connections."""
        self._client.close()


def range_token(topic: str, partition: int, start: int, end: int) -> str:
    """Token of a planned range."""
    return f"{topic}:{partition}:{start}-{end}"


def land(inserts: Inserts, table: str, rows: Rows, token: str, *, limit: int) -> list[Refused]:
    """Land all rows but those that ClickHouse refuses, and return these.

    The whole has the range's token and its schema; a part has the numbers of its rows too.
    """
    count = len(rows)
    whole = f"{token}:{rows.schema.tag}"

    def attempt(low: int, high: int) -> RowsRefusedError | None:
        part = whole if high - low == count else f"{whole}:{low}-{high}"
        try:
            inserts.insert(table, rows.schema.columns, rows.file(low, high), part)
        except RowsRefusedError as error:
            return error
        return None

    return land_all_but_refused(count, attempt, limit=limit)
