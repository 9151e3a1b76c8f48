"""A door in front of ClickHouse that a test can close: real bytes to a real server, or none."""

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Proxy:
    """Forwards connections while its door is open."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._open = True
        self._to_lose = 0
        self._connections: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.refused = 0
        """Connections that found the door closed."""
        self.lost = 0
        """Answers that were thrown away."""
        self.on_loss: Callable[[], None] = lambda: None
        """Called when an answer was thrown away, before anybody hears of it."""

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self._hang_up()

    def close_door(self) -> None:
        self._open = False
        self._hang_up()

    def open_door(self) -> None:
        self._open = True

    def lose_answers(self, count: int) -> None:
        """Throw the next answers away and break their connections."""
        self._to_lose = count

    def _hang_up(self) -> None:
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if not self._open:
                    self.refused += 1
                    client.close()
                    continue
                try:
                    server = socket.create_connection(self._target)
                except OSError:
                    client.close()
                    continue
                self._connections |= {client, server}
                for source, target, answers in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self._pump, args=(source, target, answers), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if answers and self._to_lose:
                    self._to_lose -= 1
                    self.lost += 1
                    self.on_loss()
                    break
                target.sendall(data)
        for end in (source, target):
            self._connections.discard(end)
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
