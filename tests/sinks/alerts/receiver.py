"""A real receiver on loopback that can be told to fail in every way a receiver fails."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Heard:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class LoopbackReceiver:
    """Answers as ``answers`` says, one after another; then 200. What it is sent is in ``heard``."""

    port: int
    answers: list[str | int]
    heard: list[Heard] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def loopback_receiver(*answers: str | int) -> Iterator[LoopbackReceiver]:
    """Answers are status codes, ``hang`` (no answer), ``drip`` (an answer without end), ``drop`` or ``retry:N``."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["content-length"])
            body = self.rfile.read(size)
            subject.heard.append(Heard(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            answer = subject.answers.pop(0) if subject.answers else 200
            if answer == "hang":
                subject.released.wait()
                self.close_connection = True
            elif answer == "drip":
                self._drip()
            elif answer == "drop":
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            elif isinstance(answer, str):
                self.send_response(429)
                self.send_header("retry-after", answer.partition(":")[2])
                self.end_headers()
            else:
                self.send_response(answer)
                self.send_header("location", "http://127.0.0.1:9/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()

        def _drip(self) -> None:
            self.close_connection = True
            try:
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                while not subject.released.wait(0.01):
                    self.wfile.write(b"x: y\r\n"[:1])
            except OSError:
                return

        def log_message(self, *_arguments: Any) -> None:
            """Be quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    subject = LoopbackReceiver(server.server_address[1], list(answers))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield subject
    finally:
        subject.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
