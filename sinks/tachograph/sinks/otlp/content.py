"""Captured content in the shapes of the conventions. Told only on request, and as it was captured: already redacted."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final


def content_value(column: str, row: Mapping[str, Any]) -> Any:
    """What is told of a column that holds content: text, or JSON text where it is a list."""
    shape = _SHAPES.get(column)
    return shape(row) if shape is not None else row.get(column)


def _messages(row: Mapping[str, Any]) -> str | None:
    return _json(
        [
            {"role": item.get("role"), "parts": [{"type": "text", "content": item.get("content")}]}
            for item in _parts(row.get("messages"))
        ]
    )


def _output(row: Mapping[str, Any]) -> str | None:
    said = row.get("output_raw")
    parts: list[dict[str, Any]] = [{"type": "text", "content": said}] if said else []
    parts += [
        {"type": "tool_call", **{name: call.get(column) for name, column in _CALL.items()}}
        for call in _parts(row.get("tool_calls"))
    ]
    return _json([{"role": "assistant", "parts": parts}] if parts else [])


def _tools(row: Mapping[str, Any]) -> str | None:
    return _json(
        [
            {"type": "function", **{name: tool.get(column) for name, column in _TOOL.items()}}
            for tool in _parts(row.get("tools"))
        ]
    )


def _parts(value: Any) -> Sequence[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, (list, tuple)) else []


def _json(items: list[dict[str, Any]]) -> str | None:
    return json.dumps(items, ensure_ascii=False, separators=(",", ":"), default=str) if items else None


_CALL: Final = {"id": "tool_call_id", "name": "name", "arguments": "arguments"}
_TOOL: Final = {"name": "name", "description": "description", "parameters": "schema"}

_SHAPES: Final[Mapping[str, Callable[[Mapping[str, Any]], str | None]]] = {
    "messages": _messages,
    "output_raw": _output,
    "tools": _tools,
}
NEEDS: Final[Mapping[str, tuple[str, ...]]] = {"output_raw": ("tool_calls",)}
"""Columns that a shape is made of beside its own."""
