"""From rows to OTLP's messages: what is told, and that nothing an agent writes breaks it."""

import math
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tachograph.sinks.otlp.ids import later, nanoseconds, span_bytes, trace_bytes
from tachograph.sinks.otlp.logs import event_log, violation_log
from tachograph.sinks.otlp.requests import Exported, Item, batches, request_of
from tachograph.sinks.otlp.spans import span_of
from tachograph.sinks.otlp.values import MAX_ITEMS, MAX_TEXT, any_value, attributes, text
from tachograph.sinks.otlp.vocabulary import Vocabulary
from tests.sinks.otlp.collector import named, plain
from tests.sinks.otlp.samples import NOW, PARENT, SPAN, TRACE, call_row, event_row, violation_row

VOCABULARY = Vocabulary()
WITH_CONTENT = Vocabulary(content=True)


def test_a_call_is_a_span() -> None:
    """All of it; what has no value is not told."""
    span = span_of(call_row(), VOCABULARY, found=[violation_row()])
    assert MessageToDict(span) == {
        "traceId": "S/kvNXezTaajzpKdDg5HNg==",
        "spanId": "APBnqgupArc=",
        "parentSpanId": "t61rcWkgMzE=",
        "flags": 1,
        "name": "execute_tool run_tests",
        "kind": "SPAN_KIND_INTERNAL",
        "startTimeUnixNano": str(NOW * 1000),
        "endTimeUnixNano": str(NOW * 1000 + 250_000_000),
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
            {"key": "gen_ai.tool.name", "value": {"stringValue": "run_tests"}},
            {"key": "gen_ai.tool.call.id", "value": {"stringValue": "toolu_1"}},
            {"key": "tachograph.run_id", "value": {"stringValue": "run_1"}},
        ],
        "events": [
            {
                "timeUnixNano": str(NOW * 1000),
                "name": "policy.no_push",
                "attributes": [
                    {"key": "tachograph.severity", "value": {"stringValue": "critical"}},
                    {"key": "tachograph.kind", "value": {"stringValue": "policy"}},
                    {"key": "tachograph.violation_id", "value": {"stringValue": "v_1"}},
                ],
            }
        ],
        "status": {"message": "TimeoutError", "code": "STATUS_CODE_ERROR"},
    }


def test_numbers_stay_numbers() -> None:
    """The views have text; the types are those of the columns. What is no number stays what it is."""
    told = {"decision_events.input_tokens": "12", "decision_events.temperature": "0.5", "decision_events.top_p": "odd"}
    assert named(span_of(call_row(attributes=told), VOCABULARY).attributes) == {
        "gen_ai.usage.input_tokens": 12, "gen_ai.request.temperature": 0.5, "gen_ai.request.top_p": "odd",
    }  # fmt: skip


def test_a_decision_event_is_a_log() -> None:
    """With its span, a zero that is a value, the broker's time, and without a word of content."""
    log = event_log(event_row(), VOCABULARY)
    assert (log.trace_id.hex(), log.span_id.hex(), log.flags) == (TRACE, SPAN, 1)
    assert (log.time_unix_nano, log.observed_time_unix_nano) == (NOW * 1000, (NOW + 5) * 1000)
    assert (log.event_name, log.severity_text, log.severity_number) == ("tachograph.decision_event", "INFO", 9)
    assert log.body.string_value == "message, gpt-5"
    told = named(log.attributes)
    assert told["gen_ai.usage.output_tokens"] == 0
    assert told["tachograph.seq"] == 3
    assert not [value for value in told.values() if isinstance(value, str) and value.startswith("the ")]


@pytest.mark.parametrize("column", ["alignment_status", "quality_status", "policy_status"])
@pytest.mark.parametrize(("status", "number"), [("fail", 13), ("warn", 13), ("unknown", 9), ("odd", 9)])
def test_what_an_agent_finds_wrong_is_a_warning(column: str, status: str, number: int) -> None:
    """Whichever of its own checks it is."""
    assert event_log(event_row(**{column: status}), VOCABULARY).severity_number == number


@pytest.mark.parametrize(
    ("severity", "number"), [("info", 9), ("warn", 13), ("error", 17), ("critical", 21), ("apocalyptic", 17)]
)
def test_a_violation_is_a_log_of_its_severity(severity: str, number: int) -> None:
    """One that we do not know may be a newer, worse one."""
    log = violation_log(violation_row(severity=severity), VOCABULARY)
    assert (log.severity_number, log.severity_text) == (number, severity.upper())
    assert log.body.string_value == "pushed to main"
    assert named(log.attributes)["tachograph.sample_event_ids"] == ["a", "b"]
    assert "the evidence" not in str(log)


def test_a_violation_of_no_run_has_no_trace() -> None:
    """Such as an objective's: it stands alone, and is told all the same."""
    log = violation_log(violation_row(run_id="", trace_id="", span_id=""), VOCABULARY)
    assert (log.trace_id, log.span_id) == (b"", b"")


def test_content_has_the_shapes_of_the_conventions() -> None:
    """Only on request, on the span and on the log."""
    span = span_of(call_row(), WITH_CONTENT, captured=("decision_events", event_row()))
    for told in (named(span.attributes), named(event_log(event_row(), WITH_CONTENT).attributes)):
        assert told["gen_ai.input.messages"] == ('[{"role":"user","parts":[{"type":"text","content":"the prompt"}]}]')
        assert told["gen_ai.output.messages"] == (
            '[{"role":"assistant","parts":[{"type":"text","content":"the answer"},'
            '{"type":"tool_call","id":"toolu_1","name":"run_tests","arguments":"{}"}]}]'
        )
        assert told["tachograph.user_request"] == "the request"
    assert "the " not in str(span_of(call_row(), VOCABULARY, captured=("decision_events", event_row())))


def test_a_run_full_of_violations_is_a_sound_span() -> None:
    """As many events as OpenTelemetry allows; the rest is counted, and is in the logs."""
    span = span_of(call_row(), VOCABULARY, found=[violation_row()] * (MAX_ITEMS + 5))
    assert (len(span.events), span.dropped_events_count) == (MAX_ITEMS, 5)


HOSTILE = [
    pytest.param("a\x00b", "a\ufffdb", id="null"),
    pytest.param("a\ud800b", "a?b", id="half a character"),
    pytest.param("größe 😀", "größe 😀", id="letters"),
    pytest.param("x" * (MAX_TEXT + 1), "x" * (MAX_TEXT - 1) + "…", id="long"),
    pytest.param(2**63, str(2**63), id="more than 64 bits"),
    pytest.param(-(2**63), -(2**63), id="all 64 bits"),
    pytest.param(True, True, id="a flag"),
    pytest.param(math.nan, None, id="not a number"),
    pytest.param(math.inf, None, id="infinity"),
    pytest.param({"a": 1}, None, id="a map"),
    pytest.param([None, math.nan, "a", 1], ["a", 1], id="a list of anything"),
    pytest.param(b"\xffa", "\ufffda", id="bytes"),
    pytest.param("", None, id="nothing"),
]


@pytest.mark.parametrize(("value", "told"), HOSTILE)
def test_values_are_what_every_backend_takes(value: Any, told: Any) -> None:
    """Or are left out."""
    made = any_value(value)
    assert (None if made is None else plain(made)) == told


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=20).map(text), ANY, max_size=5))
def test_any_value_makes_sound_attributes(values: dict[str, Any]) -> None:
    """Law: whatever it is, it is written, and read back as what was told."""
    span = Span(attributes=attributes(values.items()))
    read = Span.FromString(span.SerializeToString())
    assert set(named(read.attributes)) <= set(values)


@given(st.text(), st.text(), st.text(), st.integers(-(2**64), 2**64), st.none() | st.integers(-(2**64), 2**64))
def test_any_row_makes_a_sound_span(trace: str, span: str, name: str, began: int, took: int | None) -> None:
    """Law: ids of the right length and never all zero, times in order, within the format."""
    row = call_row(trace_id=trace, span_id=span, parent_span_id=name, span_name=name, began_at=began, duration_ms=took)
    made = Span.FromString(span_of(row, VOCABULARY).SerializeToString())
    assert len(made.trace_id) == 16
    assert any(made.trace_id)
    assert len(made.span_id) == 8
    assert any(made.span_id)
    assert len(made.parent_span_id) in {0, 8}
    assert 0 <= made.start_time_unix_nano <= made.end_time_unix_nano < 2**63


@given(st.text(), st.text(), st.text(), ANY)
def test_any_row_makes_a_sound_log(message: str, severity: str, model: str, value: Any) -> None:
    """Law: with content and without."""
    odd = {"input_tokens": value, "messages": value, "tool_calls": value, "output_raw": value, "tools": value}
    for vocabulary in (VOCABULARY, WITH_CONTENT):
        for log in (
            violation_log(violation_row(message=message, severity=severity, evidence=value), vocabulary),
            event_log(event_row(model=model, **odd), vocabulary),
        ):
            assert LogRecord.FromString(log.SerializeToString()) == log


def test_ids_stand_for_themselves() -> None:
    """W3C ids stay; anything else has its own, the same each time, and a run without a trace is one."""
    assert trace_bytes(TRACE, "t", "r").hex() == TRACE == trace_bytes(TRACE.upper(), "t", "r").hex()
    assert trace_bytes("", "t", "r") == trace_bytes("", "t", "r") != trace_bytes("", "t", "r2")
    assert span_bytes(PARENT).hex() == PARENT
    assert span_bytes("0" * 16) == span_bytes("0" * 16) != bytes(8)
    assert span_bytes("") == b""
    assert (nanoseconds(-5), later(7, -3)) == (0, 7)


@given(st.lists(st.integers(0, 3000), max_size=60), st.integers(1, 20), st.integers(100, 5000))
def test_batches_hold_everything_in_order(sizes: list[int], most: int, most_bytes: int) -> None:
    """Law: none empty, none with too many, none too large unless it is one item that is."""
    items = [Item((), Span(name="x" * size)) for size in sizes]
    made = list(batches(items, most, most_bytes))
    assert [item for batch in made for item in batch] == items
    for batch in made:
        assert 0 < len(batch) <= most
        assert len(batch) == 1 or sum(item.told.ByteSize() for item in batch) <= most_bytes


def test_a_request_is_gathered_by_who_acted() -> None:
    """Two agents, two resources, whatever the order."""
    one, other = (("service.name", "a"),), (("service.name", "b"),)
    items = [Item(actor, Span(name=name)) for actor, name in ((one, "1"), (other, "2"), (one, "3"))]
    body = request_of(Exported.TRACES, items, "0.1", VOCABULARY.schema_url)
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415 - this test only
        ExportTraceServiceRequest,
    )

    read = ExportTraceServiceRequest.FromString(body).resource_spans
    assert [[span.name for span in found.scope_spans[0].spans] for found in read] == [["1", "3"], ["2"]]
    assert read[0].scope_spans[0].scope.name == "tachograph"
