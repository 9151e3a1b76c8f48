"""The prompt bundle of a call, from the arguments as they were sent, in any of the shapes providers use."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from tachograph.schemas.enums import Role, TransformationType

_ROLES: Final = {role.value: role.value for role in Role} | {"function": "tool", "model": "assistant", "human": "user"}


def build_bundle(
    messages: Any,
    *,
    system: Any = None,
    tools: Iterable[Any] | None = None,
    retrieval: Any = None,
    transformations: Iterable[Any] = (),
) -> dict[str, Any]:
    """Bundle as plain data: messages, retrieval, tools, transformations. Raises nothing for strange shapes."""
    listed = [messages] if isinstance(messages, (str, Mapping)) else list(messages or ())
    parts = [_message(item) for item in listed]
    if system is not None:
        parts.insert(0, {"role": Role.SYSTEM.value, "content": _content(system)})
    return {
        "messages": parts,
        "retrieval": _retrieval(retrieval),
        "tools": [_tool(item) for item in tools or ()],
        "transformations": [_transformation(item) for item in transformations],
    }


def plain(value: Any) -> Any:
    """Model objects of a client library as plain data; the rest as it is."""
    dump = getattr(value, "model_dump", None)
    return dump(exclude_none=True) if callable(dump) else value


def _message(item: Any) -> dict[str, Any]:
    item = plain(item)
    if isinstance(item, str):
        return {"role": Role.USER.value, "content": item}
    if not isinstance(item, Mapping):
        return {"role": Role.USER.value, "content": _content(item)}
    # The Responses API mixes messages with items that have no role: calls of the model and outputs of tools.
    fallback = Role.TOOL.value if str(item.get("type", "")).endswith("_output") else Role.ASSISTANT.value
    role = _ROLES.get(str(item.get("role", "")), fallback if "type" in item else Role.USER.value)
    rest = {key: value for key, value in item.items() if key not in {"role", "content"} and value is not None}
    content = item.get("content")
    if not rest or ("content" in item and set(rest) <= {"type"}):
        return {"role": role, "content": _content(content)}
    # Tool calls and their ids are part of what was sent: they stay in the text.
    return {"role": role, "content": _content(rest if content is None else {"content": plain(content), **rest})}


def _content(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value, default=_jsonable, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        return f"<{type(value).__name__}>"


def _jsonable(value: Any) -> Any:
    dumped = plain(value)
    if dumped is value:
        return list(value) if isinstance(value, (set, frozenset)) else f"<{type(value).__name__}>"
    return dumped


def _retrieval(given: Any) -> dict[str, Any]:
    if given is None:
        return {"enabled": False, "sources": [], "snippets": None}
    if isinstance(given, Mapping):
        snippets = given.get("snippets")
        return {
            "enabled": bool(given.get("enabled", True)),
            "sources": [str(source) for source in given.get("sources") or ()],
            "snippets": None if snippets is None else _content(snippets),
        }
    return {"enabled": True, "sources": [], "snippets": _content(given)}


def _tool(item: Any) -> dict[str, Any]:
    item = plain(item)
    if not isinstance(item, Mapping):
        name = item if isinstance(item, str) else getattr(item, "name", None) or getattr(item, "__name__", "unnamed")
        return {"name": str(name), "description": None, "schema": None}
    function = item.get("function")
    inner: Mapping[str, Any] = function if isinstance(function, Mapping) else item
    schema = next((inner[key] for key in ("schema", "input_schema", "parameters") if inner.get(key) is not None), None)
    description = inner.get("description")
    return {
        "name": str(inner.get("name") or inner.get("type") or "unnamed"),
        "description": None if description is None else str(description),
        "schema": schema if isinstance(schema, Mapping) else None,
    }


def _transformation(item: Any) -> dict[str, Any]:
    if isinstance(item, Mapping):
        kind, summary = item.get("type", "other"), item.get("summary", "")
    elif isinstance(item, tuple):
        kind, summary = item
    else:
        kind, summary = TransformationType.OTHER, item
    known = {member.value for member in TransformationType}
    return {"type": str(kind) if str(kind) in known else TransformationType.OTHER.value, "summary": str(summary)}
