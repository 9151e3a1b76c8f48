"""Headers of every answer, and the hosts that are answered at all."""

from typing import Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tachograph.schemas.settings import ConsoleSettings

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Nothing inline, nothing from elsewhere: what an agent wrote could not run even if it were not escaped."""

HEADERS: Final = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # Not no-referrer: browsers then send forms with the origin "null", and we could not tell our own from others.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_NO_STORE: Final = (b"cache-control", b"no-store")
_TRANSPORT: Final = (b"strict-transport-security", b"max-age=31536000")

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


def allowed_hosts(console: ConsoleSettings) -> list[str]:
    """Host names that requests may name: a page of another name, rebound to our address, is not answered."""
    named = urlsplit(console.public_url).hostname
    return sorted({*LOOPBACK, "[::1]", console.host, *([named] if named else [])})


class SecurityHeaders:
    """Adds the headers to every answer. Pages are not stored by browsers; static files are."""

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self._app = app
        self._https = https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and add."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def added(message: Message) -> None:
            if message["type"] == "http.response.start":
                static = scope["path"].startswith("/static/")
                extra = [*HEADERS, *([] if static else [_NO_STORE]), *([_TRANSPORT] if self._https else [])]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        await self._app(scope, receive, added)
