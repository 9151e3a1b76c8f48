"""Signing in with the one-time token, and the cookie that stands for a session afterwards."""

from typing import Final, Literal

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from tachograph.console.web.rendering import Templates
from tachograph.console.web.roles import Role
from tachograph.console.web.services import Services
from tachograph.console.web.sessions import Session

UNAUTHENTICATED: Final = 401
LOCAL_VIEWER: Final = "local"
"""Name of whoever reads the token from the terminal."""

SameSite = Literal["lax", "strict"]


def cookie_name(*, https: bool) -> str:
    """The ``__Host-`` prefix makes browsers insist on Secure, this host and the whole path."""
    return "__Host-tachograph" if https else "tachograph"


def page(services: Services, templates: Templates) -> Response:
    """What strangers get, whatever they asked for."""
    return templates.bare("login.html", status=UNAUTHENTICATED, oidc=services.tokens is None, sentence="")


def with_session(response: Response, session: Session, *, https: bool, same_site: SameSite) -> Response:
    """Hand the session to the browser. It ends with the browser's session at the latest."""
    response.set_cookie(cookie_name(https=https), session.id, path="/", secure=https, httponly=True, samesite=same_site)
    return response


def without_session(response: Response, *, https: bool) -> Response:
    """Take it back."""
    response.delete_cookie(cookie_name(https=https), path="/", secure=https, httponly=True)
    return response


def token_routes(services: Services, templates: Templates, *, https: bool) -> list[BaseRoute]:
    """Exchange the token for a session, once."""
    tokens, settings = services.tokens, services.settings
    assert tokens is not None

    async def sign_in(request: Request) -> Response:
        if not tokens.redeem(request.query_params.get("token", "")):
            return page(services, templates)
        session = services.sessions.begin(LOCAL_VIEWER, settings.tenant_id, Role(settings.console.local_role))
        # Strict: no other site's link opens this console as somebody who is signed in.
        return with_session(RedirectResponse("/runs", status_code=303), session, https=https, same_site="strict")

    return [Route("/login", sign_in, methods=["GET"])]
