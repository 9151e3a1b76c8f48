"""The report as one JSON document, and the schema it keeps to."""

from dataclasses import asdict, fields, is_dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import TypeAdapter

from tachograph.console.report.model import Content, RunReport

SCHEMA_ID: Final = "https://tachograph.invalid/schemas/run-report/1"
"""Names the schema; nothing is fetched from there."""


def document_of(report: RunReport) -> dict[str, Any]:
    """The report as plain values: times as RFC 3339, tuples as lists."""
    plain: dict[str, Any] = _plain(asdict(report))
    return plain


def schema() -> dict[str, Any]:
    """JSON Schema of the document."""
    described = TypeAdapter(RunReport).json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID} | described


def without_content(report: RunReport) -> RunReport:
    """The report without the texts that an agent wrote or saw; how long they were stays."""
    bare: RunReport = _bare(report)
    return bare


def _bare(value: Any) -> Any:
    if isinstance(value, Content):
        return replace(value, text=None)
    if isinstance(value, tuple):
        return tuple(_bare(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{item.name: _bare(getattr(value, item.name)) for item in fields(value)})
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value
