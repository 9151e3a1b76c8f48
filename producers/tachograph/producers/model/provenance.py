"""Prompt provenance and model output as a DecisionEvent carries them, in the call's capture mode."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from tachograph.producers import checks
from tachograph.producers.capture import CapturePolicy
from tachograph.producers.checks import Label
from tachograph.producers.model.response import ModelResponse
from tachograph.producers.pointers import pair, pointer_body
from tachograph.schemas.canonical import CanonicalError, canonical_bytes, prompt_bundle_hash
from tachograph.schemas.enums import Provider

_MOST_CHARACTERS: Final = 128 * 1024  # of all messages of a bundle together: at 4 bytes each, half of a Kafka message
_MOST_MESSAGES: Final = 256
_HEAD: Final = 512


def provenance_body(
    bundle: dict[str, Any],
    policy: CapturePolicy,
    *,
    provider: Provider,
    model: str,
    parameters: Mapping[str, Any],
    sent_hash: str | None,
) -> dict[str, Any]:
    """What the model was given. The hash is over the bundle as sent; what is stored is its captured form."""
    try:
        bundle_hash = prompt_bundle_hash(bundle)
    except CanonicalError:
        bundle_hash = None  # nullable on the wire: the stream reports it
    captured, pointer = _fitted(policy.bundle(bundle), policy)
    return {
        "provider": provider.value,
        "model": model,
        "capture_mode": policy.mode.value,
        "prompt_bundle": _bundle_body(captured),
        "prompt_bundle_hash": bundle_hash,
        "sent_hash": None if sent_hash is None else policy.label(str(sent_hash)),
        "bundle_pointer": pointer,
        "parameters": {
            "temperature": checks.maybe_number(parameters.get("temperature")),
            "top_p": checks.maybe_number(parameters.get("top_p")),
            "max_tokens": checks.maybe_count(parameters.get("max_tokens")),
        },
    }


def _fitted(captured: dict[str, Any], policy: CapturePolicy) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Move a bundle that would burst its message to the artifact store, and leave the beginning of each message."""
    if sum(len(message["content"]) for message in captured["messages"]) <= _MOST_CHARACTERS:
        return captured, None
    pointer = policy.text(orjson.dumps(captured).decode(), suffix=".json").pointer
    kept = [message | {"content": message["content"][:_HEAD]} for message in captured["messages"][:_MOST_MESSAGES]]
    return captured | {"messages": kept}, pointer_body(pointer)


def output_body(response: ModelResponse, policy: CapturePolicy, label: Label, latency_ms: int) -> dict[str, Any]:
    """What the model returned."""
    text, pointer = pair(None if response.text is None else policy.text(response.text))
    structured = None if response.structured is None else policy.json(response.structured)
    return {
        "completion_id": checks.maybe_name(response.completion_id, label),
        "output_raw": text,
        "output_pointer": pointer,
        "output_structured": None if structured is None else json_text(structured),
        "tool_calls": [
            {
                "tool_call_id": label(call.tool_call_id, 256) or "unnamed",
                "name": label(call.name, 256) or "unnamed",
                "arguments": json_text(policy.json(call.arguments)),
                "arguments_pointer": None,
            }
            for call in response.tool_calls
        ],
        "usage": {
            "input_tokens": response.input_tokens,
            "output_tokens": response.output_tokens,
            "latency_ms": latency_ms,
        },
    }


def json_text(value: Any) -> str:
    """Free JSON as the wire carries it: canonical text."""
    try:
        return canonical_bytes(value).decode()
    except CanonicalError as error:
        return canonical_bytes({"dropped": error.reason.value}).decode()


def _bundle_body(captured: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "messages": [{"role": item["role"], "content": item["content"]} for item in captured["messages"]],
        "retrieval": {
            "enabled": captured["retrieval"]["enabled"],
            "sources": list(captured["retrieval"]["sources"]),
            "snippets": captured["retrieval"]["snippets"],
        },
        "tools": [
            {
                "name": item["name"],
                "description": item["description"],
                "schema": None if item["schema"] is None else json_text(item["schema"]),
            }
            for item in captured["tools"]
        ],
        "transformations": [{"type": item["type"], "summary": item["summary"]} for item in captured["transformations"]],
    }
