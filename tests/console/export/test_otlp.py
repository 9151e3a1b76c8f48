"""Runs as traces and logs, read by a receiver that knows nothing but OpenTelemetry's own messages."""

import json
from typing import Any

import pytest

from tachograph.schemas.tables.content import CONTENT_COLUMNS
from tests.console.export.conftest import BEGAN, HOUR, Exported
from tests.sinks.otlp.collector import Collector, collector, named

pytestmark = [pytest.mark.stack]

WINDOW = ("--since", (BEGAN - HOUR).isoformat(), "--until", (BEGAN + 24 * HOUR).isoformat())

KINDS = {1: "Internal", 2: "Server", 3: "Client"}
CODES = {0: "Unset", 1: "Ok", 2: "Error"}


def sent(exported: Exported, *arguments: str, answers: tuple[int | str, ...] = ()) -> Collector:
    """What a collector took of an export that went well."""
    with collector(*answers) as receiver:
        ran = exported.program("otlp", *arguments, "--endpoint", receiver.url)
    assert ran.code == 0, ran.stderr
    return receiver


def test_the_spans_are_those_of_the_view(exported: Exported) -> None:
    """Every span of every run, once: ids, parents, names, times, status and attributes as trace viewers see them."""
    received = sent(exported, *WINDOW)
    seen = {
        (span.trace_id.hex(), span.span_id.hex()): (
            span.parent_span_id.hex(),
            span.name,
            KINDS[span.kind],
            span.start_time_unix_nano,
            span.end_time_unix_nano - span.start_time_unix_nano,
            CODES[span.status.code],
            span.status.message,
            {
                name: f"{value:g}" if type(value) is float else str(value)
                for name, value in named(span.attributes).items()
            },
            len(span.events),
        )
        for span in received.spans
    }
    assert len(seen) == len(received.spans)
    expected = exported.ask(
        "SELECT TraceId, SpanId, ParentSpanId, SpanName, SpanKind, toUnixTimestamp64Nano(Timestamp), Duration, "
        "StatusCode, StatusMessage, SpanAttributes, length(`Events.Name`) FROM otel_traces "
        "WHERE ResourceAttributes['tachograph.tenant_id'] = {tenant:String}"
    )
    assert seen == {(row[0], row[1]): row[2:] for row in expected}
    assert len(seen) > 50


def test_a_repeat_is_the_same_bytes(exported: Exported) -> None:
    """So whoever gets them twice can tell: at least once is safe."""
    first, second = (sent(exported, "--run", exported.runs[0]) for _ in range(2))
    assert first.bodies == second.bodies
    assert first.spans


def test_decision_events_are_logs_of_their_spans(exported: Exported) -> None:
    """One each, with the trace and the span it belongs to, the broker's time beside the agent's, and no content."""
    received = sent(exported, *WINDOW)
    events = {row["event_id"]: row for row in exported.rows["decision_events"]}
    told = [log for log in received.logs if log.event_name == "tachograph.decision_event"]
    spans = {(span.trace_id, span.span_id) for span in received.spans}
    assert {named(log.attributes)["tachograph.event_id"] for log in told} == set(events)
    assert len(told) == len(events)
    for log in told:
        attributes = named(log.attributes)
        row = events[attributes["tachograph.event_id"]]
        assert (log.trace_id, log.span_id) in spans
        assert log.span_id.hex() == row["span_id"]
        assert (log.time_unix_nano, log.observed_time_unix_nano) == (
            row["occurred_at"] * 1000,
            row["received_at"] * 1000,
        )
        assert attributes["tachograph.seq"] == row["seq"]
        assert attributes.get("gen_ai.usage.input_tokens") == row["input_tokens"]
        assert log.severity_text == ("WARN" if log.severity_number == 13 else "INFO")


def test_violations_are_logs_with_severities(exported: Exported) -> None:
    """One each, beside the event that broke the promise, or else beside its run."""
    received = sent(exported, *WINDOW)
    violations = {row["violation_id"]: row for row in exported.rows["violations"]}
    told = {
        named(log.attributes)["tachograph.violation_id"]: log
        for log in received.logs
        if log.event_name == "tachograph.violation"
    }
    assert set(told) == set(violations)
    numbers = {"info": 9, "warn": 13, "error": 17, "critical": 21}
    assert {key: log.severity_number for key, log in told.items()} == {
        key: numbers[row["severity"]] for key, row in violations.items()
    }
    of_events = {row["event_id"]: row["span_id"] for row in exported.rows["decision_events"]}
    spans = {(span.trace_id, span.span_id) for span in received.spans}
    for key, log in told.items():
        row = violations[key]
        assert log.body.string_value == row["message"]
        assert (log.trace_id, log.span_id) in spans
        assert log.span_id.hex() == of_events.get(row["event_id"], log.span_id.hex())


def test_who_acted_is_the_resource(exported: Exported) -> None:
    """Agent, version, environment and tenant; and the version of the conventions is told."""
    received = sent(exported, "--run", exported.runs[0])
    resources = [named(found.resource.attributes) for request in received.traces for found in request.resource_spans]
    assert {found["service.name"] for found in resources} == {"demo-coder"}
    assert {found["tachograph.tenant_id"] for found in resources} == {exported.tenant}
    assert any("deployment.environment.name" in found for found in resources)
    of_logs = [named(found.resource.attributes) for request in received.logs_taken for found in request.resource_logs]
    assert {found["service.name"] for found in of_logs} == {"demo-coder"}
    urls = {found.schema_url for request in received.traces for found in request.resource_spans}
    assert urls == {"https://opentelemetry.io/schemas/1.41.1"}


@pytest.mark.parametrize(
    ("version", "provider", "tokens"),
    [
        pytest.param("1.26", "gen_ai.system", "gen_ai.usage.prompt_tokens", id="1.26"),
        pytest.param("1.36", "gen_ai.system", "gen_ai.usage.input_tokens", id="1.36"),
        pytest.param("1.37", "gen_ai.provider.name", "gen_ai.usage.input_tokens", id="1.37"),
    ],
)
def test_names_are_those_of_the_version(exported: Exported, version: str, provider: str, tokens: str) -> None:
    """Asked for with an option or a setting."""
    received = sent(exported, "--run", exported.runs[0], "--semconv", version)
    names = {name for span in received.spans for name in named(span.attributes)}
    assert {provider, tokens} <= names
    assert not {"gen_ai.system", "gen_ai.provider.name"} - {provider} & names


def texts_of(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts_of(item)]
    return [text for item in value for text in texts_of(item)] if isinstance(value, list) else []


def captured(exported: Exported) -> set[bytes]:
    """Every text of every column that holds content, but for what is metadata elsewhere."""
    content: set[str] = set()
    metadata: set[str] = set()
    for table, found in exported.rows.items():
        for row in found:
            for column, value in row.items():
                (content if column in CONTENT_COLUMNS.get(table, ()) else metadata).update(texts_of(value))
    public = "\n".join(metadata)
    return {text.encode() for text in content if len(text) > 20 and text not in public}


def test_no_content_leaves_by_default(exported: Exported) -> None:
    """Requests, prompts, outputs, tool texts, errors, evidence: not a word of them; asked for, they are there."""
    secrets = captured(exported)
    assert len(secrets) > 50
    quiet, loud = sent(exported, *WINDOW), sent(exported, *WINDOW, "--content")
    everything = b"".join(quiet.bodies)
    assert [secret for secret in secrets if secret in everything] == []
    told = b"".join(loud.bodies)
    assert sum(secret in told for secret in secrets) > 30
    prompts = [
        json.loads(attributes["gen_ai.input.messages"])
        for span in loud.spans
        if "gen_ai.input.messages" in (attributes := named(span.attributes))
    ]
    said = {part["content"] for prompt in prompts for message in prompt for part in message["parts"]}
    assert said >= {message["content"] for row in exported.rows["decision_events"] for message in row["messages"]}


def test_windows_that_touch_tile(exported: Exported) -> None:
    """Every span and log in one of them and none in two, wherever the cut is."""
    moments = sorted(row["occurred_at"] for row in exported.rows["tool_calls"])
    cut = f"{(moments[len(moments) // 2]) / 1e6}"
    middle = exported.ask("SELECT toString(fromUnixTimestamp64Micro(toInt64({cut:Float64} * 1000000), 'UTC'))", cut=cut)
    at = f"{middle[0][0]}+00:00"
    whole = sent(exported, *WINDOW)
    halves = [sent(exported, *WINDOW[:2], "--until", at), sent(exported, "--since", at, *WINDOW[2:])]
    assert all(half.spans and half.logs for half in halves)

    def seen(receiver: Collector) -> list[str]:
        return [span.SerializeToString().hex() for span in receiver.spans] + [
            log.SerializeToString().hex() for log in receiver.logs
        ]

    assert sorted(seen(halves[0]) + seen(halves[1])) == sorted(seen(whole))


def test_batches_are_as_large_as_asked_for(exported: Exported) -> None:
    """Nothing more than batch_items in a request, packed, and nothing lost on the way."""
    with collector() as receiver:
        ran = exported.program(
            "otlp", *WINDOW, "--endpoint", receiver.url, "--json",
            TACHOGRAPH_OTLP__BATCH_ITEMS="7", TACHOGRAPH_OTLP__HEADERS="x-key=se%20cret",
        )  # fmt: skip
    told = json.loads(ran.stdout)
    sizes = [
        sum(len(scope.spans) for found in request.resource_spans for scope in found.scope_spans)
        for request in receiver.traces
    ]
    assert max(sizes) == 7
    assert told["spans"] == {"accepted": len(receiver.spans), "rejected": 0, "retries": 0}
    assert told["logs"]["accepted"] == len(receiver.logs)
    assert told["requests"] == len(receiver.paths)
    assert {headers["content-encoding"] for headers in receiver.headers} == {"gzip"}
    assert {headers["x-key"] for headers in receiver.headers} == {"se cret"}


def test_what_a_collector_throws_away_is_said(exported: Exported) -> None:
    """Partial success is not sent again, counted, and the command fails: something is missing over there."""
    with collector("partial:3") as receiver:
        ran = exported.program("otlp", "--run", exported.runs[0], "--endpoint", receiver.url, "--json")
    assert ran.code == 1
    assert json.loads(ran.stdout)["spans"]["rejected"] == 3
    assert "threw them away" in ran.stderr


def test_a_refusal_is_a_sentence_without_content(exported: Exported) -> None:
    """The collector's own words may repeat what it was sent; they are not shown."""
    with collector(400) as receiver:
        ran = exported.program("otlp", "--run", exported.runs[0], "--endpoint", receiver.url)
    assert ran.code == 1
    assert "/v1/traces answered 400" in ran.stderr
    assert "the body said" not in ran.stderr
    assert len(receiver.paths) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param((), "say what to export", id="nothing"),
        pytest.param(("--run", "latest", "--follow"), "leave --run", id="follow a run"),
        pytest.param(("--since", "1h", "--until", "2h"), "before --until", id="backwards"),
        pytest.param(("--since", "yesterday"), "2026-03-04T05:06:07Z", id="no time"),
        pytest.param(("--run", "latest", "--semconv", "0.9"), "1.41.1", id="no such version"),
        pytest.param(("--run", "latest", "--endpoint", "localhost"), "TACHOGRAPH_OTLP__ENDPOINT", id="no address"),
        pytest.param(("--run", "latest", "--header", "key"), "NAME=VALUE", id="no header"),
    ],
)
def test_a_wrong_call_says_what_to_do(exported: Exported, arguments: tuple[str, ...], said: str) -> None:
    """Exit code 2, and nothing was sent."""
    ran = exported.program("otlp", *arguments)
    assert ran.code == 2
    assert said in ran.stderr
