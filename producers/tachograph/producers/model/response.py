"""What a model returned, read from whatever the client gave: text, a mapping, or the objects of the known clients."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from tachograph.producers.checks import maybe_count
from tachograph.producers.model.bundle import plain


@dataclass(slots=True)
class RequestedCall:
    """A tool call that the model asked for."""

    tool_call_id: str
    name: str
    arguments: Any = None


@dataclass(slots=True)
class ModelResponse:
    """One completion. ``text`` is None where the model returned no text."""

    text: str | None = None
    tool_calls: list[RequestedCall] = field(default_factory=list)
    completion_id: str | None = None
    structured: Mapping[str, Any] | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


def part(value: Any, name: str) -> Any:
    """A key of a mapping or an attribute of an object; None where there is none."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def read_response(value: Any) -> ModelResponse:
    """Read a response. What has no known shape is its own text, so that a completion is never unrecorded."""
    if value is None or isinstance(value, ModelResponse):
        return value or ModelResponse()
    if isinstance(value, str):
        return ModelResponse(text=value)
    if part(value, "choices") is not None:
        return _chat(value)
    if isinstance(part(value, "output"), (list, tuple)):
        return _responses(value)
    if part(value, "content") is not None or part(value, "tool_calls") is not None:
        return _message(value)
    text = part(value, "text") or part(value, "output_text")
    read = ModelResponse(text=text if isinstance(text, str) else _as_text(value), completion_id=_id(value))
    _usage(read, part(value, "usage"))
    return read


def arguments_of(value: Any) -> Any:
    """Arguments as data: JSON text is read, what is not JSON stays text."""
    if not isinstance(value, (str, bytes)):
        return plain(value)
    try:
        return orjson.loads(value) if value else {}
    except orjson.JSONDecodeError:
        return value if isinstance(value, str) else None


def _chat(value: Any) -> ModelResponse:
    read = ModelResponse(completion_id=_id(value))
    texts = []
    for choice in part(value, "choices") or ():
        message = part(choice, "message")
        content = part(message, "content") if message is not None else part(choice, "text")
        texts.append(_joined(content))
        texts.append(part(message, "refusal"))
        read.tool_calls += _function_calls(part(message, "tool_calls"))
    read.text = _merged(texts)
    _usage(read, part(value, "usage"))
    return read


def _responses(value: Any) -> ModelResponse:
    read = ModelResponse(completion_id=_id(value))
    texts = []
    for item in part(value, "output"):
        if part(item, "type") == "message":
            texts.append(_joined(part(item, "content")))
        elif part(item, "call_id") is not None:
            read.tool_calls.append(
                RequestedCall(
                    str(part(item, "call_id")),
                    str(part(item, "name") or part(item, "type") or "unnamed"),
                    arguments_of(
                        part(item, "arguments") if part(item, "arguments") is not None else part(item, "input")
                    ),
                )
            )
    read.text = _merged(texts)
    _usage(read, part(value, "usage"))
    return read


def _message(value: Any) -> ModelResponse:
    read = ModelResponse(completion_id=_id(value), text=_joined(part(value, "content")))
    content = part(value, "content")
    for block in content if isinstance(content, (list, tuple)) else ():
        if str(part(block, "type") or "").endswith("tool_use"):
            read.tool_calls.append(
                RequestedCall(str(part(block, "id")), str(part(block, "name")), plain(part(block, "input")))
            )
    read.tool_calls += _function_calls(part(value, "tool_calls"))
    _usage(read, part(value, "usage"))
    return read


def _function_calls(calls: Iterable[Any] | None) -> list[RequestedCall]:
    read = []
    for call in calls or ():
        function = part(call, "function")
        inner = call if function is None else function
        read.append(
            RequestedCall(
                str(part(call, "id") or part(call, "tool_call_id") or ""),
                str(part(inner, "name") or "unnamed"),
                arguments_of(part(inner, "arguments")),
            )
        )
    return read


def _joined(content: Any) -> str | None:
    if content is None or isinstance(content, str):
        return content
    texts = [item if isinstance(item, str) else part(item, "text") or part(item, "refusal") for item in content]
    return _merged(texts)


def _merged(texts: Iterable[Any]) -> str | None:
    found = [text for text in texts if isinstance(text, str) and text]
    return "\n".join(found) if found else None


def _usage(read: ModelResponse, usage: Any) -> None:
    if usage is None:
        return
    read.input_tokens = maybe_count(_first(usage, "input_tokens", "prompt_tokens"))
    read.output_tokens = maybe_count(_first(usage, "output_tokens", "completion_tokens"))


def _first(value: Any, *names: str) -> Any:
    return next((found for name in names if (found := part(value, name)) is not None), None)


def _id(value: Any) -> str | None:
    found = part(value, "id")
    return found if isinstance(found, str) else None


def _as_text(value: Any) -> str:
    try:
        return orjson.dumps(plain(value), option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        return f"<{type(value).__name__}>"
