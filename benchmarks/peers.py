"""What others charge an agent for the same tool call."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from langfuse import Langfuse, observe
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

PROSE = "The parser drops the last token of a line that ends in a comment; the test expects it to be kept. "
ONE_KB = (PROSE * 11)[:1000]


def tool(text: str, number: int = 0) -> str:
    """A tool that costs nothing itself."""
    del text, number
    return ONE_KB


@contextmanager
def opentelemetry_span() -> Iterator[tuple[Callable[[], object], Callable[[], object]]]:
    """A span with the same attributes, batched to an exporter that discards."""

    class Discard(SpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            del spans
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Discard()))
    tracer = provider.get_tracer("bench")

    def call() -> None:
        with tracer.start_as_current_span("echo") as span:
            span.set_attribute("gen_ai.tool.name", "echo")
            span.set_attribute("gen_ai.tool.call.arguments", ONE_KB)
            span.set_attribute("gen_ai.tool.call.result", tool(ONE_KB))

    yield call, provider.force_flush
    provider.shutdown()


@contextmanager
def langfuse_observe(address: str) -> Iterator[tuple[Callable[[], object], Callable[[], object]]]:
    """The decorator around the same tool, sending to a loopback server that says yes."""
    client = Langfuse(public_key="pk-bench", secret_key="sk-bench", host=address)  # noqa: S106 - guards nothing

    @observe(name="echo")
    def observed(text: str) -> str:
        return tool(text)

    yield lambda: observed(ONE_KB), client.flush
    client.shutdown()


@contextmanager
def accepting_server() -> Iterator[str]:
    """An HTTP server on loopback that takes everything and says nothing."""

    class Accept(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", "0")))
            self.send_response(200)
            self.end_headers()

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_arguments: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Accept)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
