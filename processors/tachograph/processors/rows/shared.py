"""Columns that several tables share."""

from typing import Any

Record = dict[str, Any]
"""A record as the codec gives it."""

Row = dict[str, Any]
"""A row as the codec takes it."""

Rows = list[tuple[str, Row]]
"""Tables and their rows, in the order in which they are written."""


def identity(record: Record, append_time: int) -> Row:
    """Whose row it is, from which record, when it happened and when the broker had it."""
    return {
        "tenant_id": record["tenant_id"],
        "agent_id": record["agent_id"],
        "run_id": record["run_id"] or "",
        "trace_id": record["trace_id"] or "",
        "event_id": record["event_id"],
        "seq": record["seq"],
        "occurred_at": record["occurred_at"],
        "received_at": append_time,
    }


def metadata_text(metadata: Record) -> dict[str, str]:
    """Metadata values as text: the table's map holds strings."""
    return {key: _text(value) for key, value in metadata.items()}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def request_columns(request: Record) -> Row:
    """What the user asked for."""
    context = request["context"]
    return {
        "request_id": request["request_id"],
        "user_request_raw": request["user_request_raw"],
        "constraints": request["constraints"],
        "channel": context["channel"],
        "repo": context["repo"],
        "branch": context["branch"],
        "ticket_id": context["ticket_id"],
    }


def artifact_id(pointer: Record | None) -> str | None:
    """Artifact that a pointer names, if there is one."""
    return None if pointer is None else pointer["artifact_id"]


def artifact_ids(pointers: list[Record]) -> list[str]:
    """Artifacts that pointers name."""
    return [pointer["artifact_id"] for pointer in pointers]
