"""An OTLP receiver on loopback that reads with OpenTelemetry's own messages, and fails in every way on request."""

import gzip
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsPartialSuccess,
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

Answer = int | str
PROTOBUF = "application/x-protobuf"


@dataclass
class Collector:
    """Answers as ``answers`` says, one after another; then takes everything. What it took is kept as it was read."""

    port: int
    answers: list[Answer]
    scheme: str = "http"
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    """Unpacked bodies of all requests, whatever became of them."""
    traces: list[ExportTraceServiceRequest] = field(default_factory=list)
    logs_taken: list[ExportLogsServiceRequest] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for request in self.traces
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def logs(self) -> list[LogRecord]:
        return [
            record
            for request in self.logs_taken
            for resource in request.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    subject: Collector

    def do_POST(self) -> None:
        body, subject = self.rfile.read(int(self.headers["content-length"])), self.subject
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        subject.paths.append(self.path)
        subject.headers.append({name.lower(): value for name, value in self.headers.items()})
        subject.bodies.append(body)
        answer = subject.answers.pop(0) if subject.answers else 200
        if isinstance(answer, int):
            self._answer(answer, body)
            return
        kind, _, number = answer.partition(":")
        if kind in {"hang", "drop"}:
            if kind == "hang":
                subject.released.wait()
            self.close_connection = True
        elif kind == "partial":
            self._take(body)
            self._say(200, self._partial(int(number)), PROTOBUF)
        elif kind == "nonsense":
            self._say(200, b"\xff\xff taken", PROTOBUF)
        else:
            self._say(int(kind), b"later", "text/plain", {"retry-after": number})

    def _answer(self, status: int, body: bytes) -> None:
        if status == 200:
            self._take(body)
            self._say(200, b"", PROTOBUF)
        else:
            self._say(status, b"the body said: " + body[:2000], "text/plain", {"location": "http://127.0.0.1:9/"})

    def _take(self, body: bytes) -> None:
        if self.path.endswith("/v1/traces"):
            self.subject.traces.append(ExportTraceServiceRequest.FromString(body))
        else:
            self.subject.logs_taken.append(ExportLogsServiceRequest.FromString(body))

    def _partial(self, rejected: int) -> bytes:
        if self.path.endswith("/v1/traces"):
            lost = ExportTracePartialSuccess(rejected_spans=rejected, error_message="too old")
            return ExportTraceServiceResponse(partial_success=lost).SerializeToString()
        return ExportLogsServiceResponse(
            partial_success=ExportLogsPartialSuccess(rejected_log_records=rejected)
        ).SerializeToString()

    def _say(self, status: int, body: bytes, kind: str, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Be quiet."""


class _Server(ThreadingHTTPServer):
    """A shaking of hands happens in the thread of its connection, and one that fails harms nobody."""

    daemon_threads = True
    tls: ssl.SSLContext | None = None

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self.tls is None:
            super().finish_request(request, client_address)
            return
        try:
            with self.tls.wrap_socket(request, server_side=True) as wrapped:
                super().finish_request(wrapped, client_address)
        except (ssl.SSLError, ConnectionError):
            return


@contextmanager
def collector(*answers: Answer, tls: ssl.SSLContext | None = None) -> Iterator[Collector]:
    """Answers are status codes, ``429:N`` (with Retry-After), ``partial:N``, ``hang``, ``drop`` or ``nonsense``."""

    class Handler(_Handler):
        subject: Collector

    server = _Server(("127.0.0.1", 0), Handler)
    server.tls = tls
    subject = Handler.subject = Collector(server.server_address[1], list(answers), "http" if tls is None else "https")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield subject
    finally:
        subject.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


def plain(value: AnyValue) -> Any:
    """A value as Python has it."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(item) for item in value.array_value.values]
    return getattr(value, kind) if kind else None


def named(attributes: Any) -> dict[str, Any]:
    """Attributes by name. A name that is there twice is a mistake of ours."""
    found: dict[str, Any] = {}
    pair: KeyValue
    for pair in attributes:
        assert pair.key not in found
        found[pair.key] = plain(pair.value)
    return found
