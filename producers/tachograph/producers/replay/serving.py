"""Recorded results in the form in which the agent's code got them."""

import builtins
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tachograph.producers.errors import HookAbortError
from tachograph.producers.model.response import ModelResponse, RequestedCall
from tachograph.producers.replay.errors import NotReplayableError, ReplayedError
from tachograph.schemas.recording import RecordedModelCall, RecordedToolCall


class ServedResponse(dict[str, Any]):
    """A recorded completion, where the client's own class is not known. Members are attributes, too.

    ``content`` and ``text`` are the text, ``tool_calls`` a list with ``id, name, arguments``, ``usage`` the tokens.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(frozen=True, slots=True)
class Revival:
    """How recorded data becomes what the agent's code expects. Recordings hold JSON, not Python objects."""

    response: Callable[[ModelResponse], Any] | None = None
    """A completion in the form in which the agent's own function returned it. Unless given: text where there was only
    text, else a ServedResponse. Instrumented clients need nothing: their own classes are used."""
    outputs: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """By tool: its output from JSON data."""
    errors: Mapping[str, type[Exception]] = field(default_factory=dict)
    """By class name: errors to raise where they were raised then. Python's own need not be named."""


def response_of(call: RecordedModelCall) -> ModelResponse:
    """The completion as the boundary reads it."""
    return ModelResponse(
        text=call.text,
        tool_calls=[RequestedCall(item.tool_call_id, item.name, item.arguments) for item in call.tool_calls],
        completion_id=call.completion_id,
        structured=call.structured if isinstance(call.structured, dict) else None,
        input_tokens=call.input_tokens,
        output_tokens=call.output_tokens,
    )


def default_response(response: ModelResponse) -> Any:
    """What a function that is not a known client's returned, as far as the record tells."""
    extras = (response.completion_id, response.input_tokens, response.output_tokens, response.structured)
    if not response.tool_calls and all(extra is None for extra in extras):
        return response.text
    return ServedResponse(
        id=response.completion_id,
        content=response.text or "",
        text=response.text,
        structured=response.structured,
        tool_calls=[
            ServedResponse(id=call.tool_call_id, name=call.name, arguments=call.arguments)
            for call in response.tool_calls
        ],
        usage=ServedResponse(input_tokens=response.input_tokens, output_tokens=response.output_tokens),
    )


def output_of(call: RecordedToolCall, revival: Revival) -> Any:
    """The tool's output. Raises what it raised."""
    if call.error_type is not None:
        if call.error_type == HookAbortError.__name__:
            raise HookAbortError(tool_name=call.tool_name, hook="recorded", stage="post")
        raise revived_error(call.error_type, call.error or "", revival)
    if not call.is_whole:
        raise NotReplayableError(
            f"the output of tool {call.tool_name} is not whole in the recording: it was cut, or its artifact was not "
            "found at export; record with an artifact store and export where the store can be read"
        )
    revive = revival.outputs.get(call.tool_name)
    return call.output if revive is None else revive(call.output)


def revived_error(error_type: str, text: str, revival: Revival) -> Exception:
    """An error of the class it had, if that is known here."""
    known = revival.errors.get(error_type)
    if known is None:
        found = getattr(builtins, error_type, None)
        known = found if isinstance(found, type) and issubclass(found, Exception) else None
    if known is None:
        return ReplayedError(error_type, text)
    try:
        return known(text)
    except TypeError:  # its class wants more than a text
        return ReplayedError(error_type, text)
