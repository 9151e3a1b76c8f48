"""Decision events and violations as OTLP log records, each with the trace and the span it belongs to. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, SeverityNumber

from tachograph.schemas.enums import EvaluationStatus, Severity
from tachograph.sinks.otlp.content import content_value
from tachograph.sinks.otlp.ids import nanoseconds, span_bytes, trace_bytes
from tachograph.sinks.otlp.values import MAX_CONTENT, attributes, text
from tachograph.sinks.otlp.vocabulary import Vocabulary

Row = Mapping[str, Any]

EVENT_NAME: Final = "tachograph.decision_event"
VIOLATION_NAME: Final = "tachograph.violation"

SEVERITY_NUMBERS: Final[Mapping[str, SeverityNumber.ValueType]] = {
    Severity.INFO.value: SeverityNumber.SEVERITY_NUMBER_INFO,
    Severity.WARN.value: SeverityNumber.SEVERITY_NUMBER_WARN,
    Severity.ERROR.value: SeverityNumber.SEVERITY_NUMBER_ERROR,
    Severity.CRITICAL.value: SeverityNumber.SEVERITY_NUMBER_FATAL,
}
"""How bad a violation is, in OpenTelemetry's numbers."""

_UNKNOWN: Final = SeverityNumber.SEVERITY_NUMBER_ERROR
"""A severity that is not ours may be a newer, worse one."""

_SAMPLED: Final = 1
_STATUSES: Final = ("alignment_status", "quality_status", "policy_status")
_TROUBLE: Final = frozenset({EvaluationStatus.WARN.value, EvaluationStatus.FAIL.value})


def event_log(row: Row, vocabulary: Vocabulary) -> LogRecord:
    """A decision event. What the agent's own checks did not pass makes it a warning."""
    trouble = any(row[column] in _TROUBLE for column in _STATUSES)
    log = _log(row, vocabulary, "decision_events")
    log.event_name = EVENT_NAME
    log.severity_number = SeverityNumber.SEVERITY_NUMBER_WARN if trouble else SeverityNumber.SEVERITY_NUMBER_INFO
    log.severity_text = "WARN" if trouble else "INFO"
    log.body.string_value = text(f"{row['action_type']}, {row['model']}" if row["model"] else row["action_type"])
    return log


def violation_log(row: Row, vocabulary: Vocabulary) -> LogRecord:
    """A violation. Its message says what was broken, and never holds captured content."""
    log = _log(row, vocabulary, "violations")
    log.event_name = VIOLATION_NAME
    log.severity_number = SEVERITY_NUMBERS.get(row["severity"], _UNKNOWN)
    log.severity_text = text(row["severity"]).upper()
    log.body.string_value = text(row["message"])
    return log


def _log(row: Row, vocabulary: Vocabulary, table: str) -> LogRecord:
    named, contents = vocabulary.logs(table), vocabulary.contents(table)
    told = attributes((name, row.get(column)) for column, name in named.items())
    told += attributes(((name, content_value(column, row)) for column, name in contents.items()), MAX_CONTENT)
    about_a_run = bool(row["trace_id"] or row["run_id"])
    return LogRecord(
        time_unix_nano=nanoseconds(row["occurred_at"]),
        observed_time_unix_nano=nanoseconds(row.get("received_at") or row["occurred_at"]),
        attributes=told,
        trace_id=trace_bytes(row["trace_id"], row["tenant_id"], row["run_id"]) if about_a_run else b"",
        span_id=span_bytes(row["span_id"]) if about_a_run else b"",
        flags=_SAMPLED,
    )
