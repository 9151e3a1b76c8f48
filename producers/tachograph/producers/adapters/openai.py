"""OpenAI's client behind the boundary: chat completions and responses, ``create`` and ``parse``.

The ``stream`` helpers of the client call ``create`` themselves, and so are recorded by it.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import orjson

from tachograph.producers.adapters.boundary import Dialect, instrument, parameters
from tachograph.producers.adapters.transport import watch
from tachograph.producers.errors import NotAClientError
from tachograph.producers.model.response import ModelResponse, RequestedCall, arguments_of, part, read_response

C = TypeVar("C")


def instrument_openai(client: C) -> C:
    """Record every model call that this client makes inside a run. Returns the client.

    Works for ``OpenAI`` and ``AsyncOpenAI``, streams included. A copy made by ``with_options`` is another client.

    ::

        client = instrument_openai(openai.OpenAI())
    """
    chat = getattr(getattr(client, "chat", None), "completions", None)
    responses = getattr(client, "responses", None)
    if not callable(getattr(chat, "create", None)) and not callable(getattr(responses, "create", None)):
        raise NotAClientError(
            "instrument_openai needs a client of the openai package: pip install openai, then pass openai.OpenAI() or "
            "openai.AsyncOpenAI()"
        )
    watch(client)
    for name in ("create", "parse"):
        instrument(chat, name, CHAT)
        instrument(responses, name, RESPONSES)
    return client


def _chat_prompt(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model": given.get("model"),
        "messages": given.get("messages"),
        "tools": given.get("tools") or given.get("functions"),
        "parameters": parameters(given, "max_completion_tokens", "max_tokens"),
    }


def _responses_prompt(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model": given.get("model"),
        "messages": given.get("input"),
        "system": given.get("instructions"),
        "tools": given.get("tools"),
        "parameters": parameters(given, "max_output_tokens"),
    }


class ChatChunks:
    """Puts a chat completion together from its chunks."""

    def __init__(self) -> None:
        self._read = ModelResponse()
        self._text: list[str] = []
        self._calls: dict[int, tuple[RequestedCall, list[str]]] = {}

    def add(self, event: Any) -> None:
        """Take one chunk."""
        self._read.completion_id = part(event, "id") or self._read.completion_id
        usage = part(event, "usage")
        if usage is not None:
            self._read.input_tokens = part(usage, "prompt_tokens")
            self._read.output_tokens = part(usage, "completion_tokens")
        for choice in part(event, "choices") or ():
            delta = part(choice, "delta")
            for name in ("content", "refusal"):
                if part(delta, name):
                    self._text.append(part(delta, name))
            for call in part(delta, "tool_calls") or ():
                self._call(call)

    def response(self) -> ModelResponse:
        """The completion so far."""
        self._read.text = "".join(self._text) or None
        self._read.tool_calls = []
        for _, (call, pieces) in sorted(self._calls.items()):
            call.arguments = arguments_of("".join(pieces))
            self._read.tool_calls.append(call)
        return self._read

    def _call(self, piece: Any) -> None:
        call, pieces = self._calls.setdefault(part(piece, "index") or 0, (RequestedCall("", ""), []))
        function = part(piece, "function")
        call.tool_call_id = part(piece, "id") or call.tool_call_id
        call.name = part(function, "name") or call.name
        pieces.append(part(function, "arguments") or "")


class ResponseEvents:
    """Takes the whole response from the event that ends a stream; until then, the text so far."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._whole: Any = None

    def add(self, event: Any) -> None:
        """Take one event."""
        kind = part(event, "type")
        if kind == "response.output_text.delta":
            self._text.append(part(event, "delta"))
        elif kind in {"response.completed", "response.incomplete", "response.failed"}:
            self._whole = part(event, "response")

    def response(self) -> ModelResponse:
        """The response, or what there is of it."""
        if self._whole is not None:
            return read_response(self._whole)
        return ModelResponse(text="".join(self._text) or None)


def _revived_chat(model: str, response: ModelResponse) -> Any:
    from openai.types.chat import ChatCompletion  # noqa: PLC0415 - who has a client of the package has the package

    message: dict[str, Any] = {"role": "assistant", "content": response.text}
    if response.tool_calls:
        message["tool_calls"] = [
            {"id": call.tool_call_id, "type": "function", "function": _function(call)} for call in response.tool_calls
        ]
    sent, got = response.input_tokens or 0, response.output_tokens or 0
    return ChatCompletion.construct(
        id=response.completion_id or "",
        object="chat.completion",
        created=0,
        model=model,
        choices=[{"index": 0, "message": message, "finish_reason": "tool_calls" if response.tool_calls else "stop"}],
        usage={"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got},
    )


def _revived_response(model: str, response: ModelResponse) -> Any:
    from openai.types.responses import Response  # noqa: PLC0415 - as above

    output: list[dict[str, Any]] = []
    if response.text is not None:
        text = {"type": "output_text", "text": response.text, "annotations": []}
        output.append({"type": "message", "id": "", "role": "assistant", "status": "completed", "content": [text]})
    output += [
        {"type": "function_call", "call_id": call.tool_call_id, **_function(call)} for call in response.tool_calls
    ]
    sent, got = response.input_tokens or 0, response.output_tokens or 0
    return Response.construct(
        id=response.completion_id or "",
        object="response",
        created_at=0,
        model=model,
        output=output,
        parallel_tool_calls=True,
        tool_choice="auto",
        tools=[],
        usage={
            "input_tokens": sent,
            "output_tokens": got,
            "total_tokens": sent + got,
        },
    )


def _function(call: RequestedCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": orjson.dumps(call.arguments or {}).decode()}


CHAT: Final = Dialect("openai", _chat_prompt, ChatChunks, _revived_chat)
RESPONSES: Final = Dialect("openai", _responses_prompt, ResponseEvents, _revived_response)
