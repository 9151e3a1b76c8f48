"""Every query of docs/queries.md, on what the demo's agent left behind, against figures counted from its records.

The figures come from the records as they were emitted and, for what the stream itself finds, from the pure core run
over them in Python: no broker, no database, no SQL.
"""

import json
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
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

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

PAGE = Path(__file__).parents[2] / "docs" / "queries.md"
QUERIES = {
    int(number): sql
    for number, sql in re.findall(
        r"^### (\d+)\. [^\n]*\n.*?^```sql\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
}
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

    def calls(self) -> list[Record]:
        """Tool calls, each from its post leg, or its pre leg where there is no other."""
        by_call: dict[tuple[str, str], Record] = {}
        for leg in self.of("ToolCallRecord"):
            place = _call_of(leg)
            if leg["leg"] == "post" or place not in by_call:
                by_call[place] = leg
        return list(by_call.values())

    def unanswered(self) -> list[tuple[str, str]]:
        """Runs and tools of the calls that a model asked for and of which no leg was kept."""
        legs = {_call_of(leg) for leg in self.of("ToolCallRecord")}
        return [
            (event["run_id"], asked["name"])
            for event in self.model_calls
            for asked in event["model_output"]["tool_calls"]
            if (event["run_id"], asked["tool_call_id"]) not in legs
        ]

    def ask(self, number: int) -> Rows:
        found = self.database.rows(QUERIES[number], {"tenant": self.tenant, "run": self.run})
        return [tuple(row) for row in found]


@pytest.fixture(scope="module")
def world(forged_stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The stories, told now and, late, five hours ago; records and replays beside them; all through worker and sink."""
    folder, tenant = tmp_path_factory.mktemp("queries"), f"q{uuid4().hex[:10]}"
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
        [RawRecord(0, offset, _micros(NOW), sent.key, sent.value, []) for offset, sent in enumerate(kept.events)]
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
        yield row | {"occurred_at": _micros(QUARTER[0] + timedelta(days=day))}
    for number, (policies, age) in enumerate(((("p1", "p2"), 1), (("p1",), 6), (("p1", "p3"), 8)), start=10):
        row = sample_row("decision_records", number, tenant_id=tenant, status="REJECTED", outputs="{}")
        row["policy_decisions"] = [row["policy_decisions"][0] | {"policy_decision_id": name} for name in policies]
        yield row | {"occurred_at": _micros(NOW - timedelta(days=age))}


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


def _micros(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)


def _grouped(pairs: Iterator[tuple[Any, ...]]) -> Rows:
    return sorted((*key, count) for key, count in Counter(pairs).items())


# -- What each question should be answered with ------------------------------------------------------------------------


def runs_by_end(world: World) -> Rows:
    agents = {start["run_id"]: start["agent_id"] for start in world.of("RunStarted")}
    return _grouped((agents[end["run_id"]], end["status"]) for end in world.of("RunEnded"))


def _started(world: World) -> dict[str, int]:
    return {start["run_id"]: start["occurred_at"] for start in world.of("RunStarted")}


def _duration(world: World, end: Record) -> int:
    return int((end["occurred_at"] - _started(world)[end["run_id"]]) // 1000)


def failed_runs(world: World) -> Rows:
    ends = [end for end in world.of("RunEnded") if end["status"] not in {"succeeded", "running"}]
    ends.sort(key=lambda end: _started(world)[end["run_id"]])
    return [(end["run_id"], end["error_type"], end["duration_ms"]) for end in ends]


def incomplete_runs(world: World) -> Rows:
    lost = {record["run_id"]: record["count"] for record in world.of("EventsDropped")}
    received = Counter(record["run_id"] for _, record in world.records)
    unanswered = Counter(run for run, _ in world.unanswered())
    return sorted(
        (
            run,
            received[run],
            received[run],
            dropped,
            [f"{dropped} records that the recorder dropped", f"results of {unanswered[run]} tool calls"],
        )
        for run, dropped in lost.items()
    )


def durations(world: World) -> Rows:
    ends = sorted(end["duration_ms"] for end in world.of("RunEnded"))
    return [("demo-coder", len(ends), ends[len(ends) // 2], ends[-1])]


def timeline(world: World) -> Rows:
    what: list[tuple[int, int, str]] = []
    for kind, record in world.records:
        if record["run_id"] != world.run:
            continue
        seq, at = record["seq"], record["occurred_at"]
        if kind == "DecisionEvent":
            what.append((seq, at, f"action {record['agent_action']['action_type']}"))
        elif kind == "AgentDecision":
            what.append((seq, at, f"decision {record['selected']}"))
        elif kind == "AgentQualitySignal":
            what.append((seq, at, f"signal {record['signal_code']}"))
        elif kind == "ToolCallRecord" and record["leg"] == "pre":
            last = max(leg["seq"] for leg in world.of(kind) if _call_of(leg) == _call_of(record))
            what.append((last, at, f"tool {record['tool_name']}"))
    what.sort(key=lambda item: (item[0], item[2]))
    return [(seq, datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at), said) for seq, at, said in what]


def _call_of(leg: Record) -> tuple[str, str]:
    return (leg["run_id"], leg["tool_use_id"])


def tool_failures(world: World) -> Rows:
    called = Counter([*(call["tool_name"] for call in world.calls()), *(name for _, name in world.unanswered())])
    failed = Counter(call["tool_name"] for call in world.calls() if call["error_type"] is not None)
    rows = [(name, count, failed[name], failed[name] / count) for name, count in called.items()]
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def longest_calls(world: World) -> Rows:
    calls = [(call["run_id"], call["tool_name"], call["duration_ms"]) for call in world.calls()]
    return sorted(calls, key=lambda call: (-(call[2] or 0), call[0]))[:3]


def model_latency(world: World) -> Rows:
    latencies = sorted(event["model_output"]["usage"]["latency_ms"] for event in world.model_calls)
    ranks = [int(level * (len(latencies) - 1)) for level in (0.5, 0.9, 0.95, 0.99)]
    shown = [pytest.approx(latencies[rank], rel=0.011) for rank in ranks]
    return [("scripted-1", len(latencies), shown, shown[0], shown[2])]


def tokens_by_hour(world: World) -> Rows:
    sums: dict[datetime, list[int]] = defaultdict(lambda: [0, 0])
    for event in world.model_calls:
        hour = datetime.fromtimestamp(event["occurred_at"] // 3_600_000_000 * 3600, UTC)
        sums[hour][0] += event["model_output"]["usage"]["input_tokens"]
        sums[hour][1] += event["model_output"]["usage"]["output_tokens"]
    assert len(sums) > 1, "late events are in hours of their own"
    return [(hour, "demo-coder", "scripted-1", *both) for hour, both in sorted(sums.items())]


def cost(world: World) -> Rows:
    usage = [event["model_output"]["usage"] for event in world.model_calls]
    usd = sum(item["input_tokens"] * PRICE_IN + item["output_tokens"] * PRICE_OUT for item in usage) / 1_000_000
    return [("scripted-1", len(usage), usd, 0)]


def hooks(world: World) -> Rows:
    return _grouped(
        (call["tool_name"], hook["hook"], hook["action"]) for call in world.calls() for hook in call["hooks"]
    )


def nested_calls(world: World) -> Rows:
    names = {(call["run_id"], call["tool_use_id"]): call["tool_name"] for call in world.calls()}
    return _grouped(
        (names[call["run_id"], call["parent_tool_use_id"]], call["tool_name"])
        for call in world.calls()
        if call["parent_tool_use_id"] is not None
    )


def violations(world: World) -> Rows:
    ids: dict[tuple[str, ...], set[str]] = defaultdict(set)
    runs: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for row in world.rows["violations"]:
        place = (row["kind"], row["code"], row["severity"])
        ids[place].add(row["violation_id"])
        runs[place].add(row["run_id"])
    rows = [(*place, len(ids[place]), len(runs[place])) for place in ids]
    return sorted(rows, key=lambda row: (-row[3], row[1]))


def policy_verdicts(world: World) -> Rows:
    own = {
        event["event_id"]: "" if event["evaluation"] is None else event["evaluation"]["policy"]["status"]
        for event in world.of("DecisionEvent")
    }
    return _grouped((row["policy_status"], own[row["event_id"]]) for row in world.rows["evaluations"])


def context(world: World) -> Rows:
    items, tokens = Counter[tuple[Any, ...]](), Counter[tuple[Any, ...]]()
    for manifest in world.of("ContextManifest"):
        for is_included, name in ((True, "included"), (False, "excluded")):
            for item in manifest[name]:
                place = (is_included, item["item_type"], item[f"{name}_reason"])
                items[place] += 1
                tokens[place] += item["tokens"] or 0
    return sorted((*place, count, tokens[place]) for place, count in items.items())


def choices(world: World) -> Rows:
    by: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for made in world.of("AgentDecision"):
        by[made["decision_type"], made["selected"], made["reason_code"]].append(made["confidence"])
    return sorted((*place, len(found), pytest.approx(statistics.mean(found))) for place, found in by.items())


def signals(world: World) -> Rows:
    seen = Counter((item["signal_type"], item["signal_code"]) for item in world.of("AgentQualitySignal"))
    holds = Counter(
        (item["signal_type"], item["signal_code"]) for item in world.of("AgentQualitySignal") if item["value"]
    )
    return sorted((*place, holds[place], count) for place, count in seen.items())


def large_refunds(world: World) -> Rows:
    found = []
    for row in world.sealed:
        amount = json.loads(row["outputs"]).get("refund_amount_inr")
        within = _micros(QUARTER[0]) <= row["occurred_at"] < _micros(QUARTER[1])
        if row["decision_key"] == REFUND and within and Decimal(amount) > 10_000:
            lineage = {
                name: row[name]
                for name in ("pack_version", "decision_spec", "kg_snapshot", "model_profile", "evaluator_suite")
            }
            approvers = [approval["approver"] for approval in row["approvals"]]
            found.append(
                (
                    row["record_id"],
                    row["trace_id"],
                    Decimal(amount),
                    approvers,
                    row["evidence_refs"],
                    lineage | {"policy_versions": ", ".join(row["policy_versions"])},
                )
            )
    assert len(found) == 2
    return sorted(found, key=lambda row: -row[2])


def rejections(world: World) -> Rows:
    counts = Counter(
        policy["policy_decision_id"]
        for row in world.sealed
        if row["status"] == "REJECTED" and row["occurred_at"] >= _micros(NOW - timedelta(days=7))
        for policy in row["policy_decisions"]
    )
    return sorted(counts.items(), key=lambda row: (-row[1], row[0]))


def replay_health(world: World) -> Rows:
    latest = {result.record_id: result for result in sorted(world.replays, key=lambda item: item.replayed_at)}
    by: dict[str, list[bool]] = defaultdict(list)
    for result in latest.values():
        if result.replayed_at >= NOW - timedelta(days=30):
            by[result.pack_version].append(result.outcome == "replay_equal")
    return sorted((pack, len(equal), sum(equal) / len(equal)) for pack, equal in by.items())


ANSWERS: dict[int, Callable[[World], Rows]] = dict(
    enumerate(
        (
            runs_by_end, failed_runs, incomplete_runs, durations, timeline, tool_failures, longest_calls, model_latency,
            tokens_by_hour, cost, hooks, nested_calls, violations, policy_verdicts, context, choices, signals,
            large_refunds, rejections, replay_health,
        ),
        start=1,
    )
)  # fmt: skip


def test_there_are_twenty_questions() -> None:
    """Each with a query on the page and an answer here."""
    assert set(QUERIES) == set(ANSWERS) == set(range(1, 21))


@pytest.mark.parametrize("number", ANSWERS, ids=lambda number: ANSWERS[number].__name__)
def test_the_answer_is_what_the_records_say(world: World, number: int) -> None:
    """Asked as the console's account, which may only read."""
    expected = ANSWERS[number](world)
    assert expected, "a question without an answer shows nothing"
    assert world.ask(number) == expected


def test_traces_are_whole_trees(world: World) -> None:
    """One root for each run; every other span has its parent in its trace, and none begins before it."""
    spans = world.database.rows(
        "SELECT TraceId, SpanId, ParentSpanId, Timestamp, Duration, SpanName FROM otel_traces "
        "WHERE ResourceAttributes['tachograph.tenant_id'] = {tenant:String}",
        {"tenant": world.tenant},
    )
    by_id = {(trace, span): started for trace, span, _, started, _, _ in spans}
    assert len(by_id) == len(spans), "span ids are unique within a trace"
    events, steps = len(world.of("DecisionEvent")), len(world.of("StepStarted"))
    assert len(spans) == len(world.of("RunStarted")) + steps + events + len(world.calls())
    roots = [trace for trace, _, parent, *_ in spans if not parent]
    assert sorted(roots) == sorted(start["trace_id"] for start in world.of("RunStarted"))
    for trace, _, parent, started, _, name in spans:
        if parent:
            assert by_id[trace, parent] <= started, name


def test_traces_have_the_exporter_s_columns(world: World) -> None:
    """Names and types, so that stock dashboards work; and metadata only."""
    described = {row[0]: row[1] for row in world.database.rows("DESCRIBE TABLE otel_traces")}
    attributes = "Map(LowCardinality(String), String)"
    assert described == {
        "Timestamp": "DateTime64(9, 'UTC')", "TraceId": "String", "SpanId": "String", "ParentSpanId": "String",
        "TraceState": "String", "SpanName": "LowCardinality(String)", "SpanKind": "LowCardinality(String)",
        "ServiceName": "LowCardinality(String)", "ResourceAttributes": attributes, "ScopeName": "String",
        "ScopeVersion": "String", "SpanAttributes": attributes, "Duration": "UInt64",
        "StatusCode": "LowCardinality(String)", "StatusMessage": "String",
        "Events.Timestamp": "Array(DateTime64(9, 'UTC'))", "Events.Name": "Array(LowCardinality(String))",
        "Events.Attributes": f"Array({attributes})", "Links.TraceId": "Array(String)", "Links.SpanId": "Array(String)",
        "Links.TraceState": "Array(String)", "Links.Attributes": f"Array({attributes})",
    }  # fmt: skip
    found = world.database.rows(
        "SELECT SpanKind, StatusCode, StatusMessage, SpanAttributes FROM otel_traces "
        "WHERE SpanName = 'execute_tool run_suite' AND ResourceAttributes['tachograph.tenant_id'] = {tenant:String}",
        {"tenant": world.tenant},
    )
    assert {row[:3] for row in map(tuple, found)} == {("Internal", "Error", "TimeoutError")}
    assert found[0][3]["gen_ai.tool.name"] == "run_suite"
    said = str(world.database.rows("SELECT * FROM otel_traces WHERE ServiceName = 'demo-coder'"))
    assert "Which test of the parser fails?" not in said
