"""The official clients behind the boundary, against a server that speaks their HTTP."""

import asyncio
import gc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import anthropic
import openai
import pytest

from tachograph.producers.adapters import instrument_anthropic, instrument_openai
from tachograph.producers.errors import NotAClientError
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.canonical import prompt_bundle_hash
from tests.producers.adapters.server import model_server
from tests.producers.support import make_tracer, validated

MESSAGES = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
ANTHROPIC: dict[str, Any] = {
    "model": "claude-test",
    "max_tokens": 64,
    "extra_body": {"temperature": 0.5},  # an argument of its own in older versions of the client
    "system": "be brief",
    "messages": MESSAGES,
    "tools": [{"name": "search", "description": "finds", "input_schema": SCHEMA}],
}
FUNCTION = {"name": "search", "description": "finds", "parameters": SCHEMA}
CHAT: dict[str, Any] = {
    "model": "gpt-test",
    "max_completion_tokens": 64,
    "temperature": 0.5,
    "messages": [{"role": "system", "content": "be brief"}, *MESSAGES],
    "tools": [{"type": "function", "function": FUNCTION}],
}
RESPONSES: dict[str, Any] = {
    "model": "gpt-test",
    "max_output_tokens": 64,
    "temperature": 0.5,
    "instructions": "be brief",
    "input": MESSAGES,
    "tools": [{"type": "function", **FUNCTION}],
}


@pytest.fixture
def server() -> Iterator[Any]:
    with model_server() as (address, received):
        yield SimpleNamespace(address=address, received=received)


@pytest.fixture
def publisher() -> InMemoryPublisher:
    return InMemoryPublisher()


def clients(server: Any, kind: str) -> Any:
    fields: dict[str, Any] = {"api_key": "k", "max_retries": 0}
    match kind:
        case "anthropic":
            return anthropic.Anthropic(base_url=server.address, **fields)
        case "async anthropic":
            return anthropic.AsyncAnthropic(base_url=server.address, **fields)
        case "openai":
            return openai.OpenAI(base_url=f"{server.address}/v1", **fields)
        case _:
            return openai.AsyncOpenAI(base_url=f"{server.address}/v1", **fields)


def check(publisher: InMemoryPublisher, provider: str, call_id: str, completion_id: str) -> None:
    """One call, as sent and as answered, whatever the client and however it was read."""
    [event] = publisher.of("DecisionEvent")
    provenance, output = event["prompt_provenance"], event["model_output"]
    sent = {
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
        "retrieval": {"enabled": False, "sources": [], "snippets": None},
        "tools": [{"name": "search", "description": "finds", "schema": SCHEMA}],
        "transformations": [],
    }
    assert provenance["provider"] == provider
    assert provenance["prompt_bundle_hash"] == prompt_bundle_hash(sent)
    assert provenance["sent_hash"] == prompt_bundle_hash(sent)
    assert provenance["parameters"] == {"temperature": 0.5, "top_p": None, "max_tokens": 64}
    assert output["output_raw"] == "Let me look."
    assert output["completion_id"] == completion_id
    assert output["tool_calls"] == [
        {"tool_call_id": call_id, "name": "search", "arguments": '{"q":"x"}', "arguments_pointer": None}
    ]
    assert (output["usage"]["input_tokens"], output["usage"]["output_tokens"]) == (11, 7)
    assert event["agent_action"]["action_type"] == "plan"
    validated(publisher)


def using(publisher: InMemoryPublisher, work: Any) -> Any:
    with make_tracer(publisher).start_run():
        return work()


@pytest.mark.parametrize("how", ["create", "create twice instrumented", "stream=True", "stream()", "raw response"])
def test_anthropic(server: Any, publisher: InMemoryPublisher, how: str) -> None:
    with clients(server, "anthropic") as client:
        assert instrument_anthropic(client) is client

        def work() -> str:
            match how:
                case "stream=True":
                    with client.messages.create(**ANTHROPIC, stream=True) as stream:
                        assert isinstance(stream, anthropic.Stream)
                        return "".join(getattr(getattr(event, "delta", None), "text", "") for event in stream)
                case "stream()":
                    with client.messages.stream(**ANTHROPIC) as stream:
                        return "".join(stream.text_stream)
                case "raw response":
                    message = client.messages.with_raw_response.create(**ANTHROPIC).parse()
                    return str(message.content[0].text)
                case "create twice instrumented":
                    instrument_anthropic(client)
            return str(client.messages.create(**ANTHROPIC).content[0].text)

        assert using(publisher, work) == "Let me look."
    check(publisher, "anthropic", "toolu_1", "msg_1")
    assert server.received[0]["system"] == "be brief"


@pytest.mark.parametrize("how", ["create", "stream=True", "stream()"])
def test_async_anthropic(server: Any, publisher: InMemoryPublisher, how: str) -> None:
    async def main() -> str:
        async with clients(server, "async anthropic") as client, make_tracer(publisher).start_run():
            instrument_anthropic(client)
            if how == "create":
                return str((await client.messages.create(**ANTHROPIC)).content[0].text)
            if how == "stream()":
                async with client.messages.stream(**ANTHROPIC) as stream:
                    return "".join([text async for text in stream.text_stream])
            events = await client.messages.create(**ANTHROPIC, stream=True)
            return "".join([getattr(getattr(event, "delta", None), "text", "") async for event in events])

    assert asyncio.run(main()) == "Let me look."
    check(publisher, "anthropic", "toolu_1", "msg_1")


@pytest.mark.parametrize("how", ["create", "stream=True", "stream()", "iterator of messages"])
def test_openai_chat(server: Any, publisher: InMemoryPublisher, how: str) -> None:
    usage = {"stream_options": {"include_usage": True}}
    with clients(server, "openai") as client:
        instrument_openai(client)

        def work() -> str:
            match how:
                case "stream=True":
                    chunks = client.chat.completions.create(**CHAT, stream=True, **usage)
                    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
                case "stream()":
                    with client.chat.completions.stream(**CHAT, **usage) as stream:
                        return str(stream.get_final_completion().choices[0].message.content)
                case "iterator of messages":
                    given = CHAT | {"messages": iter(CHAT["messages"])}
                    return str(client.chat.completions.create(**given).choices[0].message.content)
            return str(client.chat.completions.create(**CHAT).choices[0].message.content)

        assert using(publisher, work) == "Let me look."
    check(publisher, "openai", "call_1", "chatcmpl-1")


@pytest.mark.parametrize("how", ["create", "stream=True"])
def test_openai_responses(server: Any, publisher: InMemoryPublisher, how: str) -> None:
    with clients(server, "openai") as client:
        instrument_openai(client)

        def work() -> str:
            if how == "create":
                return str(client.responses.create(**RESPONSES).output_text)
            with client.responses.create(**RESPONSES, stream=True) as stream:
                return next(str(event.response.output_text) for event in stream if event.type == "response.completed")

        assert using(publisher, work) == "Let me look."
    check(publisher, "openai", "call_1", "resp_1")


@pytest.mark.parametrize("how", ["create", "stream=True"])
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_async_openai(server: Any, publisher: InMemoryPublisher, api: str, how: str) -> None:
    async def main() -> None:
        async with clients(server, "async openai") as client, make_tracer(publisher).start_run():
            instrument_openai(client)
            create = client.chat.completions.create if api == "chat" else client.responses.create
            given = CHAT if api == "chat" else RESPONSES
            if how == "create":
                await create(**given)
            else:
                async for _ in await create(**given, stream=True):
                    pass

    asyncio.run(main())
    check(publisher, "openai", "call_1", "chatcmpl-1" if api == "chat" else "resp_1")


def test_a_failed_call_is_recorded_and_raised(server: Any, publisher: InMemoryPublisher) -> None:
    with clients(server, "anthropic") as client, pytest.raises(anthropic.BadRequestError):  # noqa: PT012 - the error must pass through the block of the run
        instrument_anthropic(client)
        using(publisher, lambda: client.messages.create(**(ANTHROPIC | {"model": "broken"})))
    [event] = publisher.of("DecisionEvent")
    assert event["agent_action"]["action_summary"] == "the model call failed with BadRequestError"
    assert event["prompt_provenance"]["model"] == "broken"


@pytest.mark.parametrize("ending", ["closed", "forgotten"])
def test_a_stream_that_is_not_read_to_the_end(server: Any, publisher: InMemoryPublisher, ending: str) -> None:
    """What came until then is on record."""
    with clients(server, "openai") as client, make_tracer(publisher).start_run():
        instrument_openai(client)
        stream = client.chat.completions.create(**CHAT, stream=True)
        assert [next(stream).choices[0].delta.content for _ in range(2)] == ["", "Let me "]
        inner = stream._self_stream
        if ending == "closed":
            stream.close()
        del stream
        gc.collect()
        inner.close()
    [event] = publisher.of("DecisionEvent")
    assert event["model_output"]["output_raw"] == "Let me "


def test_outside_of_a_run_the_client_works_as_before(server: Any) -> None:
    with clients(server, "anthropic") as client:
        instrument_anthropic(client)
        assert client.messages.create(**ANTHROPIC).id == "msg_1"
        with client.messages.stream(**ANTHROPIC) as stream:
            assert stream.get_final_message().id == "msg_1"


@pytest.mark.parametrize(
    ("instrument", "package"), [(instrument_anthropic, "anthropic"), (instrument_openai, "openai")]
)
def test_what_is_no_client_is_refused_with_advice(instrument: Any, package: str) -> None:
    with pytest.raises(NotAClientError, match=f"pip install {package}"):
        instrument(object())


class _AddsAMessage:
    """Middleware below the boundary: the clients' own seam for changing a request."""

    def _prepare_options(self, options: Any) -> Any:
        added = {"role": "user", "content": "and be quick"}
        options.json_data = options.json_data | {"messages": [*options.json_data["messages"], added]}
        return options


class _Anthropic(_AddsAMessage, anthropic.Anthropic):
    pass


class _OpenAI(_AddsAMessage, openai.OpenAI):
    pass


class _AsyncOpenAI(openai.AsyncOpenAI):
    async def _prepare_options(self, options: Any) -> Any:
        return _AddsAMessage()._prepare_options(options)


@pytest.mark.parametrize("kind", ["anthropic", "openai", "async openai"])
def test_a_prompt_changed_on_its_way_has_another_hash(server: Any, publisher: InMemoryPublisher, kind: str) -> None:
    """The bundle is what the agent gave; the hash of what left is that of what the server received."""
    fields: dict[str, Any] = {"api_key": "k", "max_retries": 0}

    async def ask() -> None:
        async with _AsyncOpenAI(base_url=f"{server.address}/v1", **fields) as client:
            await instrument_openai(client).chat.completions.create(**CHAT)

    with make_tracer(publisher).start_run():
        if kind == "anthropic":
            with _Anthropic(base_url=server.address, **fields) as client:
                instrument_anthropic(client).messages.create(**ANTHROPIC)
        elif kind == "openai":
            with _OpenAI(base_url=f"{server.address}/v1", **fields) as other:
                instrument_openai(other).chat.completions.create(**CHAT)
        else:
            asyncio.run(ask())
    bundle = {
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hi"},
        ],
        "retrieval": {"enabled": False, "sources": [], "snippets": None},
        "tools": [{"name": "search", "description": "finds", "schema": SCHEMA}],
        "transformations": [],
    }
    received = {"role": "user", "content": "and be quick"}
    assert server.received[0]["messages"][-1] == received
    provenance = publisher.of("DecisionEvent")[0]["prompt_provenance"]
    assert provenance["prompt_bundle_hash"] == prompt_bundle_hash(bundle)
    assert provenance["sent_hash"] == prompt_bundle_hash(bundle | {"messages": [*bundle["messages"], received]})


def test_a_conversation_with_the_clients_own_objects_is_sent_as_given(
    server: Any, publisher: InMemoryPublisher
) -> None:
    """Nulls that the client writes or leaves out are no difference."""
    with clients(server, "openai") as client, make_tracer(publisher).start_run():
        instrument_openai(client)
        asked = client.chat.completions.create(**CHAT).choices[0].message
        result = {"role": "tool", "tool_call_id": "call_1", "content": "found", "name": None}
        client.chat.completions.create(**(CHAT | {"messages": [*CHAT["messages"], asked, result]}))
    for event in publisher.of("DecisionEvent"):
        provenance = event["prompt_provenance"]
        assert provenance["sent_hash"] == provenance["prompt_bundle_hash"] is not None


def test_a_client_whose_transport_cannot_be_watched_has_no_sent_hash(publisher: InMemoryPublisher) -> None:
    """None is the honest answer: nobody looked."""
    client = SimpleNamespace(messages=SimpleNamespace(create=lambda **_: "hello"))
    with make_tracer(publisher).start_run():
        assert instrument_anthropic(client).messages.create(model="m", messages=MESSAGES) == "hello"
    assert publisher.of("DecisionEvent")[0]["prompt_provenance"]["sent_hash"] is None
