"""Reads what completeness is judged by, from ClickHouse and Kafka, run by run."""

from collections.abc import Iterator
from typing import Final

from tachograph.console.database import Reader
from tachograph.console.replay.events import run_events
from tachograph.console.rows import Row, rows
from tachograph.console.verify.complete import TABLES, Reconciled, reconcile
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import EVENTS

_RUNS: Final = """
SELECT run_id, any(trace_id) AS trace_id, min(received_at) AS since, any(_partition) AS partition
FROM agent_runs
WHERE tenant_id = {tenant:String} AND ({name:String} = '' OR run_id = {name:String})
  AND ({name:String} != '' OR received_at >= now() - toIntervalHour({hours:UInt32}))
GROUP BY run_id ORDER BY since
"""
_ROWS: Final = "SELECT * FROM {table} FINAL WHERE tenant_id = {{tenant:String}} AND run_id = {{name:String}}"
_SEALED: Final = "SELECT event_id FROM decision_records WHERE tenant_id = {tenant:String} AND run_id = {name:String}"
_REFUSED: Final = """
SELECT source_offset FROM dead_letters WHERE source_topic = {topic:String} AND source_partition = {partition:Int64}
"""


def accounts(
    database: Reader, settings: Settings, tenant_id: str, *, run_id: str = "", hours: int = 24
) -> Iterator[Reconciled]:
    """The account of one run, or of every run that began in the last hours."""
    for run in rows(database, _RUNS, tenant=tenant_id, name=run_id, hours=hours):
        yield _account(database, settings, tenant_id, run)


def _account(database: Reader, settings: Settings, tenant_id: str, run: Row) -> Reconciled:
    name = run["run_id"]
    stored = {table: rows(database, _ROWS.format(table=table), tenant=tenant_id, name=name) for table in TABLES}
    sealed = {row["event_id"] for row in rows(database, _SEALED, tenant=tenant_id, name=name)}
    refused = rows(database, _REFUSED, topic=EVENTS.name, partition=run["partition"])
    events = run_events(
        settings, partition=run["partition"], trace_id=run["trace_id"], run_id=name, since_us=run["since"]
    )
    return reconcile(name, events, stored, sealed, {row["source_offset"] for row in refused})
