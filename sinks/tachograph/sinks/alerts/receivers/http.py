"""One POST with one deadline for the whole exchange. Redirects are not followed: a signed body stays where it was sent.

Answers are judged by their status alone. Nothing of their text is kept, because it may repeat what was sent.
"""

import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from tachograph.sinks.alerts.dispatch import Failure

_TRY_AGAIN: Final = frozenset({408, 425, 429})
_SERVER_ERRORS: Final = 500
_GOOD: Final = range(200, 300)


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> Failure | None:
    """Send ``body``. Returns None if the receiver took it, else why not."""
    connection = _connection(url, timeout_s)
    late = threading.Event()

    def cut_off() -> None:
        # A receiver that drips bytes would never pass a timeout of single reads.
        late.set()
        if connection.sock is not None:
            try:
                connection.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it is gone already

    deadline = threading.Timer(timeout_s, cut_off)
    deadline.daemon = True
    deadline.start()
    try:
        connection.request("POST", _target(url), body, dict(headers))
        answer = connection.getresponse()
        status, wait_s = answer.status, _asked_wait(answer.getheader("retry-after"))
        if late.is_set():  # the headers end where we cut them off
            raise TimeoutError  # noqa: TRY301 - the same as a socket's own timeout
    except TimeoutError:
        return Failure(f"no answer within {timeout_s:g} s")
    except (OSError, http.client.HTTPException) as error:
        reason = f"no answer within {timeout_s:g} s" if late.is_set() else f"no connection ({type(error).__name__})"
        return Failure(reason)
    finally:
        deadline.cancel()
        connection.close()
    return judged(status, wait_s)


def judged(status: int, wait_s: float = 0.0) -> Failure | None:
    """What an answer means: taken, try again later, or never."""
    if status in _GOOD:
        return None
    final = status < _SERVER_ERRORS and status not in _TRY_AGAIN
    return Failure(f"answered {status}", final=final, wait_s=wait_s)


def _connection(url: str, timeout_s: float) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https":
        return http.client.HTTPSConnection(host, parts.port, timeout=timeout_s, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, parts.port, timeout=timeout_s)


def _target(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _asked_wait(text: str | None) -> float:
    """Seconds of a ``Retry-After``. Its other form, a date, is not worth trusting two clocks for."""
    return float(text) if text and text.isascii() and text.isdigit() and len(text) < 7 else 0.0  # noqa: PLR2004 - eleven days
