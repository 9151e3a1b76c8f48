"""Rows of the views of spans as OTLP spans. Pure: the same row gives the same bytes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tachograph.sinks.otlp.content import content_value
from tachograph.sinks.otlp.ids import later, nanoseconds, span_bytes, trace_bytes
from tachograph.sinks.otlp.values import MAX_CONTENT, MAX_ITEMS, attributes, text
from tachograph.sinks.otlp.vocabulary import Vocabulary

Row = Mapping[str, Any]

_KINDS: Final = {
    "Internal": Span.SPAN_KIND_INTERNAL,
    "Server": Span.SPAN_KIND_SERVER,
    "Client": Span.SPAN_KIND_CLIENT,
}
_STATUS: Final = {"Ok": Status.STATUS_CODE_OK, "Error": Status.STATUS_CODE_ERROR}
_SAMPLED: Final = 1
_MAX_NAME: Final = 256


def span_of(
    row: Row,
    vocabulary: Vocabulary,
    *,
    found: Sequence[Row] = (),
    captured: tuple[str, Row] | None = None,
) -> Span:
    """A span. ``found`` are violations, which become its events; ``captured`` is a table and its row, for content."""
    began = nanoseconds(row["began_at"])
    told = vocabulary.spans
    pairs = [
        (told[column][0], told[column][1](value))
        for column, value in row["attributes"].items()
        if value and column in told
    ]
    attached = attributes(pairs)
    if captured is not None:
        table, content = captured
        named = vocabulary.contents(table)
        attached += attributes(((name, content_value(column, content)) for column, name in named.items()), MAX_CONTENT)
    return Span(
        trace_id=trace_bytes(row["trace_id"], row["tenant_id"], row["run_id"]),
        span_id=span_bytes(row["span_id"] or row["source_id"]),
        parent_span_id=span_bytes(row["parent_span_id"]),
        flags=_SAMPLED,
        name=text(row["span_name"], _MAX_NAME),
        kind=_KINDS.get(row["kind"], Span.SPAN_KIND_INTERNAL),
        start_time_unix_nano=began,
        end_time_unix_nano=later(began, row["duration_ms"]),
        attributes=attached,
        status=Status(
            code=_STATUS.get(row["status_code"], Status.STATUS_CODE_UNSET), message=text(row["status_message"])
        ),
        events=[_event(violation, vocabulary) for violation in found[:MAX_ITEMS]],
        dropped_events_count=max(len(found) - MAX_ITEMS, 0),
    )


def _event(violation: Row, vocabulary: Vocabulary) -> Span.Event:
    named = vocabulary.logs("violations")
    return Span.Event(
        time_unix_nano=nanoseconds(violation["occurred_at"]),
        name=text(violation["code"], _MAX_NAME),
        attributes=attributes((named[column], violation[column]) for column in ("severity", "kind", "violation_id")),
    )
