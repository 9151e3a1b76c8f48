"""Every query of docs/queries.md, on what the demo's agent left behind, against figures counted from its records.

The figures come from the records as they were emitted and, for what the stream itself finds, from the pure core run
over them in Python: no broker, no database, no SQL.
"""

import json
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.told import NOW, QUARTER, REFUND, Record, Rows, World, call_of, micros

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

PAGE = Path(__file__).parents[2] / "docs" / "queries.md"
QUERIES = {
    int(number): sql
    for number, sql in re.findall(
        r"^### (\d+)\. [^\n]*\n.*?^```sql\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
}


def ask(world: World, number: int) -> Rows:
    found = world.database.rows(QUERIES[number], {"tenant": world.tenant, "run": world.run})
    return [tuple(row) for row in found]


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
            last = max(leg["seq"] for leg in world.of(kind) if call_of(leg) == call_of(record))
            what.append((last, at, f"tool {record['tool_name']}"))
    what.sort(key=lambda item: (item[0], item[2]))
    return [(seq, datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at), said) for seq, at, said in what]


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
    return [("scripted-1", len(world.model_calls), world.spent()[2], 0)]


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
        within = micros(QUARTER[0]) <= row["occurred_at"] < micros(QUARTER[1])
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
        if row["status"] == "REJECTED" and row["occurred_at"] >= micros(NOW - timedelta(days=7))
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
    assert ask(world, number) == expected


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
