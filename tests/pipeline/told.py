"""What the demo's agent leaves behind, sent through the pipeline and kept for the test: what queries are asked of."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

from confluent_kafka import Producer

from tachograph.console.database import Reader, reader
from tachograph.console.demo.recording import STORY_TIME, play_stories
from tachograph.console.demo.stage import stage
from tachograph.processors.deadletters import RawRecord
from tachograph.producers.publishing import Message, SpoolOptions, SpoolPublisher
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.models import ReplayResult
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import RECORDS, REPLAYS
from tachograph.schemas.wire import Codec, to_avro
from tachograph.sinks.clickhouse.client import connect
from tachograph.sinks.clickhouse.prices import apply_prices, read_prices
from tests.pipeline.processes import pipeline, wait_for
from tests.processors.records import PartitionWorker
from tests.sinks.rows import sample_row

NOW = datetime.now(UTC)
PRICE_IN, PRICE_OUT = Decimal("2.5"), Decimal(10)
CODEC = Codec()

Record = dict[str, Any]
Rows = list[tuple[Any, ...]]


class Both:
    """A publisher that spools for the broker and keeps a copy for the test."""

    def __init__(self, spool: SpoolPublisher, kept: InMemoryPublisher) -> None:
        self._spool, self._kept = spool, kept

    def publish(self, message: Message) -> None:
        self._spool.publish(message)
        self._kept.publish(message)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spool, name)


@dataclass
class World:
    """What was emitted, what the pure core makes of it, and a reader of what landed."""

    tenant: str
    records: list[tuple[str, Record]]
    rows: dict[str, list[Record]]
    """Rows by table, from the pure core."""
    sealed: list[Record]
    replays: list[ReplayResult]
    database: Reader

    def of(self, name: str) -> list[Record]:
        return [record for kind, record in self.records if kind == name]

    @property
    def run(self) -> str:
        return str(self.of("RunStarted")[0]["run_id"])

    @property
    def model_calls(self) -> list[Record]:
        return [event for event in self.of("DecisionEvent") if event["prompt_provenance"] is not None]

    def spent(self) -> tuple[int, int, Decimal]:
        """Tokens sent and received, and what they cost in dollars."""
        usage = [event["model_output"]["usage"] for event in self.model_calls]
        sent, received = (sum(item[name] for item in usage) for name in ("input_tokens", "output_tokens"))
        return sent, received, (sent * PRICE_IN + received * PRICE_OUT) / 1_000_000

    def calls(self) -> list[Record]:
        """Tool calls, each from its post leg, or its pre leg where there is no other."""
        by_call: dict[tuple[str, str], Record] = {}
        for leg in self.of("ToolCallRecord"):
            place = call_of(leg)
            if leg["leg"] == "post" or place not in by_call:
                by_call[place] = leg
        return list(by_call.values())

    def unanswered(self) -> list[tuple[str, str]]:
        """Runs and tools of the calls that a model asked for and of which no leg was kept."""
        legs = {call_of(leg) for leg in self.of("ToolCallRecord")}
        return [
            (event["run_id"], asked["name"])
            for event in self.model_calls
            for asked in event["model_output"]["tool_calls"]
            if (event["run_id"], asked["tool_call_id"]) not in legs
        ]


@contextmanager
def told_world(forged_stack: Settings, folder: Path) -> Iterator[World]:
    """The stories, told now and, late, five hours ago; records and replays beside them; all through worker and sink."""
    tenant = f"q{uuid4().hex[:10]}"
    settings, kept = forged_stack.model_copy(update={"tenant_id": tenant}), InMemoryPublisher()
    for place, started in enumerate((NOW - STORY_TIME, NOW - timedelta(hours=5))):
        spool = SpoolPublisher(SpoolOptions(folder=folder / f"spool-{place}"), kafka=forged_stack.kafka)
        with stage(settings, Both(spool, kept), started_at=started, suffix=f"{tenant}-{place}") as on:
            play_stories(on)
            assert on.tracer.flush(30)
    sealed, replays = list(sealed_records(tenant)), list(replay_results(tenant))
    publish(forged_stack, sealed, replays)
    load_price(forged_stack, folder)
    rows = pure_rows(kept)
    with reader(forged_stack) as database:
        found = World(tenant, [(item.type, item.record) for item in kept.records], rows, sealed, replays, database)
        expected = {table: len(made) for table, made in rows.items()}
        expected |= {"decision_records": len(sealed), "replays": len(replays)}

        def missing() -> dict[str, int]:
            sql = " UNION ALL ".join(
                f"SELECT '{table}', count() FROM {table} WHERE tenant_id = {{tenant:String}}"  # noqa: S608 - our names
                for table in expected
            )
            landed = {table: count for table, count in database.rows(sql, {"tenant": tenant})}  # noqa: C416 - rows are lists
            return {table: count - landed[table] for table, count in expected.items() if landed[table] < count}

        with pipeline(forged_stack, folder) as parts:
            wait_for(lambda: not missing(), lambda: f"missing rows: {missing()}", *parts)
        yield found


def pure_rows(kept: InMemoryPublisher) -> dict[str, list[Record]]:
    """What the stream's core makes of the records, by table."""
    worker = PartitionWorker()
    batch = worker.run(
        [RawRecord(0, offset, micros(NOW), sent.key, sent.value, []) for offset, sent in enumerate(kept.events)]
    )
    rows: dict[str, list[Record]] = defaultdict(list)
    for message in batch.messages:
        name, row = CODEC.decode(message.value)
        rows[name.removeprefix("rows.")].append(row)
    assert "dead_letters" not in rows
    return dict(rows)


REFUND = "support.refund.execute"
QUARTER = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)


def sealed_records(tenant: str) -> Iterator[Record]:
    """Refunds of the first quarter around the amount, as number and as text; others; and rejections of this week."""
    for number, (amount, day, key) in enumerate(
        [
            (4200, 10, REFUND),
            (10000, 11, REFUND),
            ("10000.01", 12, REFUND),
            (25000, 89, REFUND),
            (30000, 90, REFUND),  # the first of April
            (50000, 20, "support.credit.execute"),
        ]
    ):
        row = sample_row("decision_records", number, tenant_id=tenant, decision_key=key, status="DECIDED")
        row["outputs"] = json.dumps({"outcome": "approved", "refund_amount_inr": amount, "currency": "INR"})
        row["approvals"] = [row["approvals"][0] | {"approver": f"lead_{number}"}]
        yield row | {"occurred_at": micros(QUARTER[0] + timedelta(days=day))}
    for number, (policies, age) in enumerate(((("p1", "p2"), 1), (("p1",), 6), (("p1", "p3"), 8)), start=10):
        row = sample_row("decision_records", number, tenant_id=tenant, status="REJECTED", outputs="{}")
        row["policy_decisions"] = [row["policy_decisions"][0] | {"policy_decision_id": name} for name in policies]
        yield row | {"occurred_at": micros(NOW - timedelta(days=age))}


def replay_results(tenant: str) -> Iterator[ReplayResult]:
    """Some replayed twice, with another result; some too long ago."""
    results = [
        ("a", "pack@1", "changed_policy", 5), ("a", "pack@1", "replay_equal", 2), ("b", "pack@1", "tamper_detected", 1),
        ("c", "pack@2", "replay_equal", 3), ("d", "pack@2", "changed_evidence", 40),
        ("e", "pack@3", "replay_equal", 31),
    ]  # fmt: skip
    for number, (record, pack, outcome, age) in enumerate(results):
        yield ReplayResult.model_validate(
            {
                "tenant_id": tenant, "agent_id": "", "replay_id": f"{tenant}-{number}", "trace_id": record,
                "run_id": f"run-{record}", "record_id": record, "decision_key": REFUND, "decision_spec": "",
                "pack_version": pack, "outcome": outcome, "replayed_by": "test",
                "replayed_at": NOW - timedelta(days=age),
            }
        )  # fmt: skip


def publish(stack: Settings, sealed: Sequence[Record], replays: Sequence[ReplayResult]) -> None:
    producer = Producer(stack.kafka.client(**{"enable.idempotence": True}))
    for row in sealed:
        producer.produce(RECORDS.name, CODEC.encode("rows.decision_records", row), row["log_id"])
    for result in replays:
        producer.produce(REPLAYS.name, CODEC.encode("rows.replays", to_avro(result)), result.trace_id)
    assert producer.flush(30) == 0


def load_price(stack: Settings, folder: Path) -> None:
    """The demo's model has a price in this test."""
    file, day = folder / "prices.yaml", (NOW - timedelta(days=400)).date()
    file.write_text(
        f"prices: [{{provider: other, models: [scripted-1], from: {day}, "
        f'input_usd_per_mtok: "{PRICE_IN}", output_usd_per_mtok: "{PRICE_OUT}"}}]'
    )
    house = stack.clickhouse
    with connect(house, house.migrate_user, house.migrate_password) as client:
        apply_prices(client, read_prices(file))


def micros(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)


def call_of(leg: Record) -> tuple[str, str]:
    """Which call a leg belongs to."""
    return (leg["run_id"], leg["tool_use_id"])
