"""``/metrics``, ``/healthz`` and ``/readyz`` of a process, served from a thread of their own.

The thread answers while the process works, and asks what it serves of the process itself: a process that hangs is
found out, because it does not answer the asking.
"""

import threading
from contextlib import AbstractContextManager, nullcontext
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Protocol, Self

from tachograph.schemas.errors import ConfigError

_REQUEST_TIMEOUT_S: Final = 5.0
"""Longest wait for a client that connected and says nothing."""

_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Observed(Protocol):
    """A process that can be asked. Called from threads of the server, several at once."""

    def metrics(self) -> bytes:
        """Every metric in Prometheus' text format."""

    def dead(self) -> str | None:
        """Why the process should be restarted, in a sentence; None if it is well."""

    def not_ready(self) -> str | None:
        """What it still waits for, in a sentence; None if it is at work."""


class StatusServer:
    """Serves the three pages until closed."""

    def __init__(self, host: str, port: int, observed: Observed, *, setting: str) -> None:
        """Listen at once. Raises ConfigError that names ``setting`` if the port cannot be had."""
        try:
            self._server = ThreadingHTTPServer((host, port), _pages_of(observed))
        except OSError as error:
            raise ConfigError(
                f"{host}:{port} cannot be listened on ({error.strerror}); set {setting} to a free port, or to 0"
            ) from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="status", daemon=True)
        self._thread.start()

    @classmethod
    def at(cls, host: str, port: int, observed: Observed, *, setting: str) -> AbstractContextManager[Any]:
        """A server as the settings ask for it: none if the port is 0."""
        return cls(host, port, observed, setting=setting) if port else nullcontext()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()


def _pages_of(observed: Observed) -> type[BaseHTTPRequestHandler]:
    class Pages(BaseHTTPRequestHandler):
        timeout = _REQUEST_TIMEOUT_S

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics":
                self._answer(HTTPStatus.OK, observed.metrics(), _METRICS_TYPE)
            elif path == "/healthz":
                self._say(observed.dead())
            elif path == "/readyz":
                self._say(observed.dead() or observed.not_ready())
            else:
                self._answer(HTTPStatus.NOT_FOUND, b"there are /metrics, /healthz and /readyz\n")

        def _say(self, problem: str | None) -> None:
            status = HTTPStatus.OK if problem is None else HTTPStatus.SERVICE_UNAVAILABLE
            self._answer(status, f"{problem or 'ok'}\n".encode())

        def _answer(self, status: HTTPStatus, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """A probe every few seconds is no news."""

    return Pages
