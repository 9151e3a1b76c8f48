"""Anthropic's client behind the boundary: ``messages.create``, ``messages.parse`` and ``messages.stream``."""

import functools
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, TypeVar

from tachograph.producers.adapters.boundary import Dialect, instrument, parameters, read, refuse_stream, sent
from tachograph.producers.adapters.transport import sending, watch
from tachograph.producers.errors import NotAClientError
from tachograph.producers.model.call import ModelCall
from tachograph.producers.model.response import ModelResponse, RequestedCall, arguments_of, part
from tachograph.producers.position import current_run

C = TypeVar("C")


def instrument_anthropic(client: C) -> C:
    """Record every model call that this client makes inside a run. Returns the client.

    Works for ``Anthropic`` and ``AsyncAnthropic``, streams included. A copy made by ``with_options`` is another client.

    ::

        client = instrument_anthropic(anthropic.Anthropic())
    """
    messages = getattr(client, "messages", None)
    if not callable(getattr(messages, "create", None)):
        raise NotAClientError(
            "instrument_anthropic needs a client of the anthropic package: pip install anthropic, then pass "
            "anthropic.Anthropic() or anthropic.AsyncAnthropic()"
        )
    watch(client)
    for resource in (messages, getattr(getattr(client, "beta", None), "messages", None)):
        instrument(resource, "create", DIALECT)
        instrument(resource, "parse", DIALECT)
        _instrument_stream(resource)
    return client


def _prompt(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model": given.get("model"),
        "messages": given.get("messages"),
        "system": given.get("system"),
        "tools": given.get("tools"),
        "parameters": parameters(given, "max_tokens"),
    }


class MessageEvents:
    """Puts a message together from its raw events."""

    def __init__(self) -> None:
        self._read = ModelResponse()
        self._texts: dict[int, list[str]] = {}
        self._calls: dict[int, tuple[RequestedCall, list[str]]] = {}

    def add(self, event: Any) -> None:
        """Take one event."""
        match part(event, "type"):
            case "message_start":
                message = part(event, "message")
                self._read.completion_id = part(message, "id")
                self._usage(part(message, "usage"))
            case "content_block_start":
                self._block(part(event, "index"), part(event, "content_block"))
            case "content_block_delta":
                self._delta(part(event, "index"), part(event, "delta"))
            case "message_delta":
                self._usage(part(event, "usage"))
            case _:
                pass

    def response(self) -> ModelResponse:
        """The message so far."""
        texts = ["".join(pieces) for _, pieces in sorted(self._texts.items())]
        self._read.text = "\n".join(text for text in texts if text) or None
        self._read.tool_calls = []
        for _, (call, pieces) in sorted(self._calls.items()):
            if pieces:
                call.arguments = arguments_of("".join(pieces))
            self._read.tool_calls.append(call)
        return self._read

    def _block(self, index: int, block: Any) -> None:
        if str(part(block, "type")).endswith("tool_use"):
            self._calls[index] = (RequestedCall(part(block, "id"), part(block, "name"), part(block, "input")), [])
        elif part(block, "type") == "text":
            self._texts[index] = [part(block, "text") or ""]

    def _delta(self, index: int, delta: Any) -> None:
        if part(delta, "type") == "text_delta":
            self._texts.setdefault(index, []).append(part(delta, "text"))
        elif part(delta, "type") == "input_json_delta":
            self._calls[index][1].append(part(delta, "partial_json"))

    def _usage(self, usage: Any) -> None:
        for name in ("input_tokens", "output_tokens"):
            if part(usage, name) is not None:
                setattr(self._read, name, part(usage, name))


def _revived(model: str, response: ModelResponse) -> Any:
    from anthropic.types import Message  # noqa: PLC0415 - who has a client of the package has the package

    blocks: list[dict[str, Any]] = [] if response.text is None else [{"type": "text", "text": response.text}]
    blocks += [
        {"type": "tool_use", "id": call.tool_call_id, "name": call.name, "input": call.arguments or {}}
        for call in response.tool_calls
    ]
    return Message.construct(
        id=response.completion_id or "",
        type="message",
        role="assistant",
        model=model,
        content=blocks,
        stop_reason="tool_use" if response.tool_calls else "end_turn",
        usage={"input_tokens": response.input_tokens or 0, "output_tokens": response.output_tokens or 0},
    )


DIALECT: Final = Dialect("anthropic", _prompt, MessageEvents, _revived)


def _instrument_stream(resource: Any) -> None:
    """``stream`` returns a manager whose stream keeps a snapshot: the call is recorded when the block ends."""
    original = getattr(resource, "stream", None)
    if not callable(original) or getattr(original, "__tachograph_instrumented__", False):
        return

    @functools.wraps(original)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        run = current_run()
        if run is not None and run.replay is not None:
            refuse_stream(ModelCall(run, provider="anthropic", **_prompt(sent(kwargs)), reader=read).begin())
        manager = original(*args, **kwargs)
        if run is None:
            return manager
        return _RecordedManager(manager, ModelCall(run, provider="anthropic", **_prompt(sent(kwargs)), reader=read))

    setattr(recorded, "__tachograph_instrumented__", True)  # noqa: B010 - a function has no such attribute for mypy
    resource.stream = recorded


class _RecordedManager:
    """Stands before a stream manager, plain or async."""

    def __init__(self, manager: Any, call: ModelCall) -> None:
        self._manager = manager
        self._call = call
        self._stream: Any = None

    def __enter__(self) -> Any:
        self._call.begin()
        try:
            with sending(self._call, _prompt):
                self._stream = self._manager.__enter__()
        except BaseException as error:
            self._call.end(error)
            raise
        return self._stream

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        try:
            return self._manager.__exit__(kind, error, trace)
        finally:
            self._end(error)

    async def __aenter__(self) -> Any:
        self._call.begin()
        try:
            with sending(self._call, _prompt):
                self._stream = await self._manager.__aenter__()
        except BaseException as error:
            self._call.end(error)
            raise
        return self._stream

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        try:
            return await self._manager.__aexit__(kind, error, trace)
        finally:
            self._end(error)

    def _end(self, error: BaseException | None) -> None:
        try:
            snapshot = self._stream.current_message_snapshot
        except Exception:  # noqa: BLE001 - nothing had come yet: there is no snapshot
            snapshot = None
        self._call.record(snapshot)
        self._call.end(error)
