"""The official clients in a replay: their own classes come back, and no request leaves."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tachograph.producers import Tracer
from tachograph.producers.adapters import instrument_anthropic, instrument_openai
from tachograph.producers.replay import NotReplayableError, Recording, recording_of
from tachograph.producers.testing import InMemoryPublisher
from tests.producers.adapters.server import model_server
from tests.producers.adapters.test_clients import ANTHROPIC, CHAT, RESPONSES, clients
from tests.producers.support import make_tracer

Ask = Callable[[Any], Any]


def asked(tracer: Tracer, client: Any, ask: Ask, *, is_async: bool) -> Any:
    """One run with one call."""

    async def later() -> Any:
        try:
            return await ask(client)
        finally:
            await client._client._transport.aclose()  # connections of this loop; the client goes on

    with tracer.start_run("q"):
        return asyncio.run(later()) if is_async else ask(client)


@pytest.mark.parametrize(
    ("kind", "ask", "is_async"),
    [
        pytest.param("anthropic", lambda client: client.messages.create(**ANTHROPIC), False, id="anthropic"),
        pytest.param("async anthropic", lambda client: client.messages.create(**ANTHROPIC), True, id="async anthropic"),
        pytest.param("openai", lambda client: client.chat.completions.create(**CHAT), False, id="chat"),
        pytest.param("async openai", lambda client: client.chat.completions.create(**CHAT), True, id="async chat"),
        pytest.param("openai", lambda client: client.responses.create(**RESPONSES), False, id="responses"),
        pytest.param("async openai", lambda client: client.responses.create(**RESPONSES), True, id="async responses"),
    ],
)
def test_a_client_gets_its_own_objects(kind: str, ask: Ask, is_async: bool) -> None:
    """What the agent's code reads from a completion is what it read then."""
    instrument = instrument_anthropic if "anthropic" in kind else instrument_openai
    publisher = InMemoryPublisher()
    with model_server() as (address, received):
        client = instrument(clients(type("Server", (), {"address": address}), kind))
        then = asked(make_tracer(publisher), client, ask, is_async=is_async)
        requests = len(received)
    recording = _recording(publisher)
    tracer = make_tracer()
    with tracer.replaying(recording.run_id, recording):
        now = asked(tracer, client, ask, is_async=is_async)
    assert type(now) is type(then)
    assert (now.id, now.model, len(received)) == (then.id, then.model, requests)
    assert _said(now) == _said(then)


def test_a_stream_is_refused_with_a_sentence() -> None:
    """A recording has the completion and not its pieces."""
    publisher = InMemoryPublisher()
    with model_server() as (address, _received):
        client = instrument_anthropic(clients(type("Server", (), {"address": address}), "anthropic"))
        asked(make_tracer(publisher), client, lambda client: client.messages.create(**ANTHROPIC), is_async=False)
    recording = _recording(publisher)
    tracer = make_tracer()
    for streamed in (
        lambda client: client.messages.create(**ANTHROPIC, stream=True),
        lambda client: client.messages.stream(**ANTHROPIC),
    ):
        with pytest.raises(NotReplayableError, match="stream"), tracer.replaying(recording.run_id, recording):
            asked(tracer, client, streamed, is_async=False)


def _recording(publisher: InMemoryPublisher) -> Recording:
    return recording_of(publisher.of("RunStarted")[0]["run_id"], publisher.records)


def _said(response: Any) -> Any:
    if hasattr(response, "choices"):
        message = response.choices[0].message
        return (
            message.content,
            [(call.id, call.function.name) for call in message.tool_calls],
            response.usage.total_tokens,
        )
    if hasattr(response, "output_text"):
        return response.output_text, [item.call_id for item in response.output if item.type == "function_call"]
    return [block.text if block.type == "text" else (block.id, block.name, block.input) for block in response.content]
