"""Keeping runs for good: because a person says so, and marking the rows of all that are kept.

What the stream itself keeps is put into ``kept_runs`` by the database. TTLs leave marked rows alone, so marking has to
happen before a row's days are over: run it once a day.
"""

from collections.abc import Mapping
from typing import Final

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import Error

from tachograph.schemas.retention import TABLES, KeepReason, keeps_runs
from tachograph.schemas.settings import ClickHouseSettings
from tachograph.sinks.clickhouse.client import connect, translated
from tachograph.sinks.clickhouse.cluster import stored
from tachograph.sinks.clickhouse.statements import quoted_identifier

MARKED_TABLES: Final = tuple(table for table in TABLES if keeps_runs(table))
"""Tables whose rows can be kept for their run's sake."""


def keep_run(settings: ClickHouseSettings, *, tenant_id: str, run_id: str, incident: str, kept_by: str) -> None:
    """Put the run beyond every TTL because of an incident. Saying it twice changes nothing."""
    with connect(settings, settings.migrate_user, settings.migrate_password) as client:
        try:
            client.insert(
                "kept_runs",
                [[tenant_id, run_id, KeepReason.INCIDENT.value, incident, kept_by]],
                column_names=["tenant_id", "run_id", "reason", "source_id", "kept_by"],
                database=settings.database,
                settings={"async_insert": 0},
            )
        except Error as error:
            raise translated(error, "keeping a run") from None


def mark_kept_rows(
    settings: ClickHouseSettings, *, dry_run: bool = False, cluster: str | None = None
) -> Mapping[str, int]:
    """Mark the rows of kept runs in every table, and return how many were not marked yet, by table.

    Waits until ClickHouse has rewritten the marks. Only the mark's own column is rewritten, where there is something to
    mark. With ``cluster``, on all of its shards.
    """
    with connect(settings, settings.migrate_user, settings.migrate_password) as client:
        try:
            return {
                table: _mark(client, settings.database, table, dry_run=dry_run, cluster=cluster)
                for table in MARKED_TABLES
            }
        except Error as error:
            raise translated(error, "marking the rows of kept runs") from None


def marking(database: str, table: str, cluster: str | None = None) -> str:
    """The statement that marks a table's rows."""
    where = table if cluster is None else f"{stored(table)} ON CLUSTER {quoted_identifier(cluster)}"
    return f"ALTER TABLE {quoted_identifier(database)}.{where} UPDATE _kept = true WHERE {_unmarked(database)}"


def _unmarked(database: str) -> str:
    name = quoted_identifier(database)
    return f"NOT _kept AND (tenant_id, run_id) IN (SELECT tenant_id, run_id FROM {name}.kept_runs)"  # noqa: S608 - our own names


def _mark(client: Client, database: str, table: str, *, dry_run: bool, cluster: str | None) -> int:
    counting = f"SELECT count() FROM {quoted_identifier(database)}.{table} WHERE {_unmarked(database)}"  # noqa: S608 - as above
    found = int(client.query(counting).result_rows[0][0])
    if found and not dry_run:
        client.command(marking(database, table, cluster), settings=_WAIT if cluster is None else _WAIT_FOR_ALL)
    return found


_WAIT: Final = {"mutations_sync": 2, "max_execution_time": 0}
# Replicas may see kept_runs at different moments, so ClickHouse wants to be told that this is meant: what one of them
# misses today it marks tomorrow, and a mark is never taken back.
_WAIT_FOR_ALL: Final = _WAIT | {"allow_nondeterministic_mutations": 1, "distributed_ddl_task_timeout": -1}
