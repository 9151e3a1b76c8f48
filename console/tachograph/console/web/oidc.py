"""Signing in at an identity provider: authorization code flow with PKCE. Tenant and role come from the id token."""

import logging
import secrets
from typing import Any, Final

from authlib.integrations.starlette_client import OAuth
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from tachograph.console.web.login import with_session
from tachograph.console.web.rendering import Templates
from tachograph.console.web.roles import Role, strongest
from tachograph.console.web.services import Services

_log = logging.getLogger(__name__)

FLOW_LIFETIME_S: Final = 600
"""How long somebody may take to sign in."""
REFUSED: Final = 403


class OidcSignIn:
    """The way to the provider and back. Only state, nonce and PKCE verifier travel in a cookie, signed, for minutes."""

    def __init__(self, services: Services, templates: Templates, *, https: bool) -> None:
        console = services.settings.console
        self._services = services
        self._templates = templates
        self._https = https
        self._issuer = console.oidc_issuer.rstrip("/")
        self._provider: Any = OAuth().register(
            "provider",
            client_id=console.oidc_client_id,
            client_secret=console.oidc_client_secret.get_secret_value() or None,
            server_metadata_url=f"{self._issuer}/.well-known/openid-configuration",
            client_kwargs={"scope": console.oidc_scopes, "code_challenge_method": "S256"},
        )

    def routes(self) -> list[BaseRoute]:
        """``/oidc/login`` and ``/oidc/callback``."""
        flow = Middleware(
            SessionMiddleware,
            secret_key=secrets.token_urlsafe(32),
            session_cookie="tachograph_oidc",
            max_age=FLOW_LIFETIME_S,
            path="/oidc",
            # The provider sends the browser back from another site.
            same_site="lax",
            https_only=self._https,
        )
        return [
            Mount(
                "/oidc",
                routes=[
                    Route("/login", self._leave, methods=["GET"]),
                    Route("/callback", self._return, methods=["GET"]),
                ],
                middleware=[flow],
            )
        ]

    async def _leave(self, request: Request) -> Response:
        public = self._services.settings.console.public_url or str(request.base_url)
        try:
            found: Response = await self._provider.authorize_redirect(
                request, f"{public.split('/oidc')[0].rstrip('/')}/oidc/callback"
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, it is said and nobody gets in
            return self._refused("The identity provider does not answer. Try again, or ask your operator.", error)
        return found

    async def _return(self, request: Request) -> Response:
        console = self._services.settings.console
        try:
            token = await self._provider.authorize_access_token(
                request,
                claims_options={
                    "iss": {"essential": True, "value": (await self._provider.load_server_metadata())["issuer"]},
                    "aud": {"essential": True, "value": console.oidc_client_id},
                },
            )
            claims = dict(token["userinfo"])
        except Exception as error:  # noqa: BLE001 - whatever is wrong with an answer, nobody gets in on it
            return self._refused("The identity provider's answer cannot be accepted. Sign in again.", error)
        tenant, role = claims.get(console.oidc_tenant_claim), strongest(claims.get(console.oidc_role_claim))
        if not isinstance(tenant, str) or not tenant or role is None or claims["iss"].rstrip("/") != self._issuer:
            return self._refused(
                f"You are known, but may not enter: your identity needs the claims {console.oidc_tenant_claim} and "
                f"{console.oidc_role_claim} ({', '.join(Role)}).",
                None,
            )
        request.session.clear()
        session = self._services.sessions.begin(str(claims["sub"]), tenant, role)
        # Lax: the redirect that brings the browser here was begun by another site.
        return with_session(RedirectResponse("/runs", status_code=303), session, https=self._https, same_site="lax")

    def _refused(self, sentence: str, error: Exception | None) -> Response:
        if error is not None:
            _log.warning("signing in failed: %s", type(error).__name__)
        return self._templates.bare("login.html", status=REFUSED, oidc=True, sentence=sentence)
