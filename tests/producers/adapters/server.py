"""A loopback server that speaks enough of the two model APIs: JSON and server-sent events, as documented by both."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"input_tokens": 11, "output_tokens": 7}
ANTHROPIC = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-test",
    "content": [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"q": "x"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": USAGE,
}
ANTHROPIC_EVENTS: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": ANTHROPIC | {"content": [], "stop_reason": None, "usage": {"input_tokens": 11, "output_tokens": 1}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Let me "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "look."}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"q": '}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '"x"}'}},
    {"type": "content_block_stop", "index": 1},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 7},
    },
    {"type": "message_stop"},
]
CALL = {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}}
CHAT_USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-test",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": "Let me look.", "tool_calls": [CALL]},
        }
    ],
    "usage": CHAT_USAGE,
}


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-test",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


CHAT_CHUNKS = [
    _chunk({"role": "assistant", "content": ""}),
    _chunk({"content": "Let me "}),
    _chunk({"content": "look."}),
    _chunk({"tool_calls": [{"index": 0} | CALL | {"function": {"name": "search", "arguments": ""}}]}),
    _chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"q": '}}]}),
    _chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"x"}'}}]}),
    _chunk({}, "tool_calls"),
    _chunk({}) | {"choices": [], "usage": CHAT_USAGE},
]
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-test",
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "temperature": 1.0,
    "top_p": 1.0,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {
            "type": "message",
            "id": "m_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "search",
            "arguments": '{"q": "x"}',
            "status": "completed",
        },
    ],
    "usage": USAGE
    | {
        "total_tokens": 18,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    },
}
RESPONSE_EVENTS: list[dict[str, Any]] = [
    {
        "type": "response.created",
        "sequence_number": 0,
        "response": RESPONSE | {"output": [], "status": "in_progress", "usage": None},
    },
    {
        "type": "response.output_text.delta",
        "sequence_number": 1,
        "item_id": "m_1",
        "output_index": 0,
        "content_index": 0,
        "delta": "Let me ",
        "logprobs": [],
    },
    {"type": "response.completed", "sequence_number": 2, "response": RESPONSE},
]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    received: list[dict[str, Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.received.append(body)
        if body.get("model") == "broken":
            self._send(b'{"type":"error","error":{"type":"invalid_request_error","message":"no"}}', status=400)
        elif self.path.endswith("/messages"):
            self._answer(body, ANTHROPIC, ANTHROPIC_EVENTS, named=True, done=False)
        elif self.path.endswith("/chat/completions"):
            self._answer(body, CHAT, CHAT_CHUNKS, named=False, done=True)
        else:
            self._answer(body, RESPONSE, RESPONSE_EVENTS, named=True, done=False)

    def _answer(
        self, body: dict[str, Any], whole: dict[str, Any], events: list[dict[str, Any]], *, named: bool, done: bool
    ) -> None:
        if not body.get("stream"):
            return self._send(json.dumps(whole).encode())
        lines = [f"event: {event.get('type')}\n" * named + f"data: {json.dumps(event)}\n\n" for event in events]
        self._send(("".join(lines) + "data: [DONE]\n\n" * done).encode(), kind="text/event-stream")
        return None

    def _send(self, data: bytes, *, status: int = 200, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Stay quiet."""


@contextmanager
def model_server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Address of a running server, and the bodies it receives."""
    received: list[dict[str, Any]] = []
    handler = type("Handler", (_Handler,), {"received": received})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
