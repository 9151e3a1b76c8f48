"""The application. Every page is declared once, with the role it needs; one place checks session, role and form."""

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from tachograph.console.database import DatabaseUnreachableError, QueryRefusedError
from tachograph.console.web import csrf, login
from tachograph.console.web.asked import Asked, PageError
from tachograph.console.web.database import Database
from tachograph.console.web.oidc import OidcSignIn
from tachograph.console.web.pages import PAGES, Page
from tachograph.console.web.rendering import STATIC, Templates
from tachograph.console.web.security import SecurityHeaders, allowed_hosts
from tachograph.console.web.services import Services
from tachograph.console.web.sessions import Session, Sessions
from tachograph.console.web.tokens import OneTimeTokens
from tachograph.console.web.viewing import KafkaViewLog, NotRecordedError, ViewLog
from tachograph.schemas.settings import Settings

_log = logging.getLogger(__name__)

UNREACHABLE: Final = 503
Endpoint = Callable[[Request], Awaitable[Response]]


def create_app(
    settings: Settings,
    *,
    announce: Callable[[str], None] = lambda _token: None,
    views: ViewLog | None = None,
    clock: Callable[[], float] = time.time,
) -> Starlette:
    """The console as an ASGI application. ``announce`` is told each one-time token."""
    console = settings.console
    services = Services(
        settings=settings,
        database=Database(settings),
        sessions=Sessions(lifetime_s=console.session_hours * 3600, clock=clock),
        views=views or KafkaViewLog(settings),
        tokens=None if console.oidc_issuer else OneTimeTokens(announce),
        now=lambda: datetime.fromtimestamp(clock(), UTC),
    )
    gate = Gate(services, Templates(), https=urlsplit(console.public_url).scheme == "https")

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        services.close()

    app = Starlette(
        routes=gate.routes(),
        middleware=[
            Middleware(SecurityHeaders, https=gate.https),
            Middleware(TrustedHostMiddleware, allowed_hosts=allowed_hosts(console), www_redirect=False),
        ],
        exception_handlers={404: gate.not_found, 405: gate.not_found},
        lifespan=lifespan,
    )
    app.state.services = services
    return app


@dataclass(frozen=True, slots=True)
class Gate:
    """What stands before every page."""

    services: Services
    templates: Templates
    https: bool

    def routes(self) -> list[BaseRoute]:
        """Every path that is answered."""
        sign_in = (
            OidcSignIn(self.services, self.templates, https=self.https).routes()
            if self.services.tokens is None
            else login.token_routes(self.services, self.templates, https=self.https)
        )
        return [
            Mount("/static", StaticFiles(directory=STATIC), name="static"),
            *sign_in,
            *(Route(page.path, self._guarded(page), methods=[page.method]) for page in PAGES),
        ]

    def session_of(self, request: Request) -> Session | None:
        """The session of a request, if it has one."""
        return self.services.sessions.get(request.cookies.get(login.cookie_name(https=self.https)))

    async def not_found(self, request: Request, _error: Exception) -> Response:
        """Nothing here; to strangers, not even that is said."""
        session = self.session_of(request)
        if session is None:
            return login.page(self.services, self.templates)
        asked = Asked(request, session, self.services, self.templates, {})
        return asked.page("error.html", status=404, sentence="There is no such page.")

    def _guarded(self, page: Page) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            session = self.session_of(request)
            if session is None:
                return login.page(self.services, self.templates)
            asked = Asked(request, session, self.services, self.templates, {})
            try:
                if page.method == "POST":
                    form = await csrf.checked_form(request, session)
                    asked = Asked(request, session, self.services, self.templates, form)
                asked.need(page.role)
                return await run_in_threadpool(page.answer, asked)
            except PageError as error:
                return asked.page("error.html", status=error.status, sentence=error.sentence)
            except (DatabaseUnreachableError, NotRecordedError, QueryRefusedError) as error:
                _log.warning("%s cannot be shown: %s", page.path, type(error).__name__)
                return asked.page("error.html", status=UNREACHABLE, sentence=str(error))

        return endpoint
