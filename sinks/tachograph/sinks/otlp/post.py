"""One POST of OTLP over HTTP, with one deadline for the whole exchange. Redirects are not followed.

Of the answer only the status, the time it asks for and the counts are used. Its text is not kept: it may repeat what
was sent.
"""

import gzip
import math
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Final, Protocol, Self

import httpx

from tachograph.schemas.errors import ConfigError
from tachograph.sinks.otlp.endpoint import Target
from tachograph.sinks.otlp.requests import Exported

_MOST_ANSWER: Final = 64 * 1024
_LEVEL: Final = 3
"""Of gzip: beyond it, time grows and size hardly shrinks."""

_LONGEST_ASKED_S: Final = 3600.0
_PROTOBUF: Final = "application/x-protobuf"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a collector said to one request."""

    shown: str
    """Address, for sentences."""
    status: int | None
    """None: there was no answer."""
    reason: str
    """What happened, as the end of a sentence."""
    body: bytes = b""
    is_protobuf: bool = False
    asked_wait_s: float = 0.0


class Post(Protocol):
    """Sends one body. Never raises for the receiver's fault."""

    def __call__(self, signal: Exported, body: bytes) -> Answer:
        """What the receiver said."""


class HttpPost:
    """The real one. A context manager: close it."""

    def __init__(self, targets: Mapping[Exported, Target], clock: Callable[[], float] = time.monotonic) -> None:
        self._targets = targets
        self._clock = clock
        with ExitStack() as opened:
            self._clients = {
                signal: opened.enter_context(
                    httpx.Client(
                        timeout=target.timeout_s,
                        verify=_tls(target),
                        follow_redirects=False,
                        trust_env=True,
                        headers={"content-type": _PROTOBUF, "user-agent": "tachograph-otlp", **target.headers},
                    )
                )
                for signal, target in targets.items()
            }
            self._opened = opened.pop_all()

    def __call__(self, signal: Exported, body: bytes) -> Answer:
        """Send a body and judge the answer."""
        target, started = self._targets[signal], self._clock()
        sent = gzip.compress(body, _LEVEL, mtime=0) if target.gzip else body
        headers = {"content-encoding": "gzip"} if target.gzip else {}
        try:
            with self._clients[signal].stream("POST", target.url, content=sent, headers=headers) as response:
                answered = bytearray()
                for chunk in response.iter_bytes():
                    answered += chunk
                    if len(answered) > _MOST_ANSWER or self._clock() - started > target.timeout_s:
                        # The status is known, and that is what counts.
                        break
                return Answer(
                    shown=target.shown,
                    status=response.status_code,
                    reason=f"answered {response.status_code}",
                    body=bytes(answered),
                    is_protobuf=response.headers.get("content-type", "").split(";")[0].strip() == _PROTOBUF,
                    asked_wait_s=_asked_wait(response.headers.get("retry-after")),
                )
        except httpx.TimeoutException:
            return Answer(target.shown, None, f"gave no answer within {target.timeout_s:g} s")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return Answer(target.shown, None, f"cannot be reached ({type(error).__name__})")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, error, trace)


def _tls(target: Target) -> ssl.SSLContext:
    if target.url.startswith("http://"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used; reading the system's authorities takes 20 ms
    try:
        context = ssl.create_default_context(cafile=target.certificate)
        if target.client_certificate is not None:
            context.load_cert_chain(target.client_certificate, target.client_key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            "a certificate or key for OTLP cannot be used "
            f"({type(error).__name__}): check TACHOGRAPH_OTLP__CERTIFICATE, __CLIENT_CERTIFICATE and __CLIENT_KEY"
        ) from None
    return context


def _asked_wait(text: str | None, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> float:
    """Seconds of a ``Retry-After``: a number or a date. What is neither asks for nothing."""
    if not text:
        return 0.0
    try:
        seconds = float(text)
    except ValueError:
        try:
            at = parsedate_to_datetime(text)
        except ValueError:
            return 0.0
        seconds = (at.replace(tzinfo=at.tzinfo or UTC) - now()).total_seconds()
    return min(max(seconds, 0.0), _LONGEST_ASKED_S) if math.isfinite(seconds) else 0.0
