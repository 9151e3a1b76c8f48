"""A ClickHouse that is there and does not take inserts: HTTP in front of the real one, with its ways of saying no."""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def _front(self) -> "Front":
        server: Any = self.server
        assert isinstance(server, Front)
        return server

    def do_GET(self) -> None:
        self._forward("GET", b"")

    def do_POST(self) -> None:
        front = self._front
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or self._chunks()
        is_insert = b"Obj\x01" in body  # an Avro file
        if is_insert:
            if front.code:
                front.refused += 1
                self._answer(500, {"X-ClickHouse-Exception-Code": str(front.code)}, f"Code: {front.code}.".encode())
                return
            if not front.go.is_set():
                front.held += 1
                front.go.wait(120)
        code = self._forward("POST", body)
        if is_insert and code:
            front.said.append(int(code))

    def _chunks(self) -> bytes:
        parts = []
        while size := int(self.rfile.readline() or b"0", 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        return b"".join(parts)

    def _forward(self, method: str, body: bytes) -> str | None:
        """Returns the code with which ClickHouse itself said no."""
        connection = http.client.HTTPConnection(*self._front.target, timeout=60)
        skipped = {"host", "content-length", "transfer-encoding", "connection", "accept-encoding"}
        headers = {name: value for name, value in self.headers.items() if name.lower() not in skipped}
        connection.request(method, self.path, body, headers)
        response = connection.getresponse()
        answer = response.read()
        kept = {name: value for name, value in response.getheaders() if name.lower().startswith("x-clickhouse")}
        connection.close()
        self._answer(response.status, kept, answer)
        return response.getheader("X-ClickHouse-Exception-Code")

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # who asked has given up

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Front(ThreadingHTTPServer):
    """Forwards requests. Inserts may be refused with a code of ClickHouse's, or held until they are let go."""

    daemon_threads = True

    def __init__(self, host: str, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = (host, port)
        self.port: int = self.server_address[1]
        self.code = 0
        """What inserts are refused with; 0 lets them pass."""
        self.go = threading.Event()
        """Inserts wait for it."""
        self.go.set()
        self.refused = 0
        self.held = 0
        self.said = list[int]()
        """Codes with which ClickHouse itself refused inserts."""
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.go.set()
        self.shutdown()
        self._thread.join()
        self.server_close()
