"""Acknowledged means kept, and kept means once, whatever is killed."""

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tachograph.console.database import Reader, reader
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import EVENTS
from tests.pipeline.processes import pipeline, wait_for
from tests.pipeline.records import Sent, expected_rows, mixed_records

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]

RECORDS = 10_000
SINK_KILLS = 10
WORKER_KILLS = 5
SMALL_BATCHES = {
    "TACHOGRAPH_WORKER__BATCH_SIZE": "250",
    "TACHOGRAPH_SINK__BATCH_ROWS": "400",
    "TACHOGRAPH_SINK__BATCH_WITHIN_S": "0.05",
}
"""So that a kill finds something half done."""


def test_every_record_lands_once_whatever_is_killed(stack: Settings, tmp_path: Path) -> None:
    """10,000 mixed records, the sink killed ten times and the worker five: every event id exactly once."""
    seed = random.randrange(2**32)  # noqa: S311 - a schedule, printed if it fails
    chance = random.Random(seed)  # noqa: S311 - as above
    label = f"once-{seed}"
    records = list(mixed_records(RECORDS, label))
    expected = expected_rows(records)
    total = sum(sum(by_event.values()) for by_event in expected.values())
    with reader(stack) as database, pipeline(stack, tmp_path, **SMALL_BATCHES) as (worker, sink):
        kills = [sink] * SINK_KILLS + [worker] * WORKER_KILLS
        chance.shuffle(kills)
        share = len(records) // len(kills)

        def missing() -> str:
            found = found_rows(database, label, expected)
            counts = {table: sum(event not in found.get(table, {}) for event in expected[table]) for table in expected}
            return f"seed {seed}, event ids without a row by table: {counts}"

        for number, victim in enumerate(kills):
            before = landed(database, label, expected)
            send(stack, records[number * share : (number + 1) * share])
            wait_for(lambda: landed(database, label, expected) > before, missing, worker, sink)  # noqa: B023 - used at once
            victim.run_for(chance.uniform(0, 0.4))
            victim.kill()
            victim.start()
        send(stack, records[len(kills) * share :])
        wait_for(lambda: landed(database, label, expected) >= total, missing, worker, sink)
        assert found_rows(database, label, expected) == expected, f"seed {seed}"


def send(settings: Settings, records: list[Sent]) -> None:
    producer = Producer(settings.kafka.client(**{"partitioner": "murmur2_random", "enable.idempotence": True}))
    for record in records:
        producer.produce(EVENTS.name, key=record.key, value=record.value)
        producer.poll(0)
    assert producer.flush(30) == 0


def landed(database: Reader, label: str, tables: Iterable[str]) -> int:
    """Rows of this test in ClickHouse, repeats included."""
    total: int = database.rows(f"SELECT count() FROM ({union(tables)})", {"label": label})[0][0]  # noqa: S608 - our tables
    return total


def found_rows(database: Reader, label: str, tables: Iterable[str]) -> dict[str, dict[str, int]]:
    """Rows per table and event id."""
    found: dict[str, dict[str, int]] = {}
    counted = f"SELECT name, event_id, count() FROM ({union(tables)}) GROUP BY ALL"  # noqa: S608 - our tables
    for table, event_id, count in database.rows(counted, {"label": label}):
        found.setdefault(table, {})[event_id] = count
    return found


def union(tables: Iterable[str]) -> str:
    """Event ids by table. A joined call has the ids of all its legs."""
    ids = {table: "arrayJoin(event_ids)" if table == "tool_calls" else "event_id" for table in tables}
    return " UNION ALL ".join(
        f"SELECT '{table}' AS name, {found} AS event_id FROM {table} WHERE startsWith(run_id, {{label:String}})"  # noqa: S608 - our tables
        for table, found in ids.items()
    )
