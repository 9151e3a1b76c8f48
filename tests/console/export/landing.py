"""Rows landed in the real tables by the sink's own code, without a broker: in a partition of the test's own."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from secrets import randbelow
from typing import Any

from tachograph.processors.deadletters import RawRecord
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.settings import Settings
from tachograph.schemas.wire import Codec
from tachograph.sinks.clickhouse.block import build
from tachograph.sinks.clickhouse.insert import ClickHouseInserts, land
from tachograph.sinks.clickhouse.schemas import RowSchemas
from tests.processors.records import PartitionWorker
from tests.sinks.rows import encoded

CODEC = Codec()
RECEIVED = 1_772_600_000_000_000
"""The broker's time of the first record, in microseconds."""

Rows = Mapping[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class _Message:
    number: int
    body: bytes

    def value(self) -> bytes:
        return self.body

    def offset(self) -> int:
        return self.number

    def headers(self) -> None:
        """Nobody wrote it twice."""


class Landing:
    """One partition, which goes on where it was."""

    def __init__(self, settings: Settings) -> None:
        # Anywhere in the upper half of what the tables take: no topic has so many partitions.
        self.partition = 600_000 + randbelow(400_000)
        self._inserts = ClickHouseInserts(settings.clickhouse)
        self._next: dict[str, int] = defaultdict(int)

    def land(self, rows: Rows) -> None:
        """Insert rows, table by table."""
        for table, found in rows.items():
            self.land_raw(table, [encoded(table, row) for row in found])

    def land_raw(self, table: str, values: Iterable[bytes]) -> None:
        """Insert encoded rows."""
        start = self._next[table]
        messages = [_Message(start + place, value) for place, value in enumerate(values)]
        self._next[table] = start + len(messages)
        block = build(messages, self.partition, RowSchemas(table), {})
        assert not block.unreadable
        for number, group in enumerate(block.rows):
            token = f"{table}:{self.partition}:{start}:{number}"
            assert land(self._inserts, table, group, token, limit=10) == []

    def close(self) -> None:
        self._inserts.close()


def stream(publisher: InMemoryPublisher) -> dict[str, list[dict[str, Any]]]:
    """What the worker's core makes of what a recorder sent, by table."""
    worker = PartitionWorker()
    batch = worker.run(
        [
            RawRecord(0, offset, RECEIVED + offset, sent.key, sent.value, [])
            for offset, sent in enumerate(publisher.events)
        ]
    )
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for message in batch.messages:
        name, row = CODEC.decode(message.value)
        rows[name.removeprefix("rows.")].append(row)
    assert "dead_letters" not in rows
    return dict(rows)
