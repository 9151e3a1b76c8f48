"""Signing in at an identity provider: a real one on loopback, which signs what the test tells it to."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import uvicorn
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from tachograph.console.web import create_app
from tachograph.schemas.settings import ConsoleSettings, KafkaSettings, Settings
from tests.console.web.site import BASE

CLIENT = "tachograph-console"


class Provider:
    """An OpenID provider: discovery, authorization, token and keys."""

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "k1"})
        self.signs_with = self.key
        self.claims: dict[str, Any] = {}
        self.asked: dict[str, str] = {}
        self.url = ""

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._discovery),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/keys", self._keys),
            ]
        )

    async def _discovery(self, _request: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                "id_token_signing_alg_values_supported": ["RS256"],
            }
        )

    async def _authorize(self, request: Request) -> Response:
        self.asked = dict(request.query_params)
        back = f"{self.asked['redirect_uri']}?code=the-code&state={self.asked['state']}"
        return RedirectResponse(back, 302)

    async def _token(self, request: Request) -> Response:
        form = parse_qs((await request.body()).decode())
        assert "code_verifier" in form, "PKCE"
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": "ada",
            "iat": now,
            "exp": now + 300,
            "nonce": self.asked.get("nonce"),
            **self.claims,
        }
        signed = jwt.encode({"alg": "RS256", "kid": "k1"}, claims, self.signs_with)
        return JSONResponse({"access_token": "at", "token_type": "Bearer", "id_token": signed})

    async def _keys(self, _request: Request) -> Response:
        return JSONResponse({"keys": [self.key.as_dict(private=False)]})


@pytest.fixture(scope="module")
def running() -> Iterator[Provider]:
    provider = Provider()
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    provider.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(provider.app(), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield provider
    server.should_exit = True
    thread.join()


@pytest.fixture
def provider(running: Provider) -> Provider:
    running.claims = {"tachograph_tenant": "acme", "tachograph_role": ["auditor", "viewer"]}
    running.signs_with = running.key
    return running


def console(provider: Provider) -> TestClient:
    settings = Settings(
        kafka=KafkaSettings(bootstrap_servers="127.0.0.1:1"),
        console=ConsoleSettings(oidc_issuer=provider.url, oidc_client_id=CLIENT),
    )
    return TestClient(create_app(settings), base_url=BASE, follow_redirects=False)


def sign_in(browser: TestClient, provider: Provider, **changed: str) -> Any:
    """The way to the provider and back, as a browser goes it."""
    away = browser.get("/oidc/login")
    assert away.status_code == 302, away.text
    assert away.headers["location"].startswith(f"{provider.url}/authorize?")
    back = urlsplit(httpx.get(away.headers["location"]).headers["location"])
    given = {name: values[0] for name, values in parse_qs(back.query).items()} | changed
    return browser.get(back.path, params=given)


def test_tenant_and_role_come_from_the_identity(provider: Provider) -> None:
    """Of several roles the strongest; the viewer's name is the subject."""
    with console(provider) as browser:
        assert "identity provider" in browser.get("/runs").text
        answer = sign_in(browser, provider)
        assert (answer.status_code, answer.headers["location"]) == (303, "/runs")
        assert any("HttpOnly" in each and "SameSite=lax" in each for each in answer.headers.get_list("set-cookie"))
        page = browser.get("/query")
        assert page.status_code == 200
        assert "acme" in page.text
        assert "Signed in as ada" in page.text
        assert "auditor" in page.text
    assert provider.asked["code_challenge_method"] == "S256"
    assert provider.asked["redirect_uri"] == f"{BASE}/oidc/callback"


def test_without_signing_in_there_is_no_way(provider: Provider) -> None:
    """The one-time token is off, and a callback that nobody began is refused."""
    with console(provider) as browser:
        assert browser.get("/login", params={"token": "x"}).status_code == 401
        assert browser.get("/oidc/callback", params={"code": "the-code", "state": "x"}).status_code == 403
        assert browser.get("/runs").status_code == 401


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({"tachograph_tenant": None}, id="no tenant"),
        pytest.param({"tachograph_tenant": ["acme", "other"]}, id="two tenants"),
        pytest.param({"tachograph_role": "admin"}, id="a role that is none"),
        pytest.param({"aud": "somebody-else"}, id="for another client"),
        pytest.param({"iss": "http://127.0.0.1:1"}, id="of another issuer"),
        pytest.param({"exp": 1}, id="expired"),
        pytest.param({"nonce": "another"}, id="of another sign-in"),
    ],
)
def test_an_identity_that_does_not_fit_is_refused(provider: Provider, claims: dict[str, Any]) -> None:
    """Known or not, nobody gets a session on it."""
    provider.claims = provider.claims | claims
    with console(provider) as browser:
        assert sign_in(browser, provider).status_code == 403
        assert browser.get("/runs").status_code == 401


def test_a_token_of_another_key_is_refused(provider: Provider) -> None:
    """Whoever signed it, it was not the provider."""
    provider.signs_with = RSAKey.generate_key(2048, {"kid": "k1"})
    with console(provider) as browser:
        assert sign_in(browser, provider).status_code == 403


def test_a_changed_state_is_refused(provider: Provider) -> None:
    """The answer must belong to the sign-in that this browser began."""
    with console(provider) as browser:
        assert sign_in(browser, provider, state="other").status_code == 403


def test_a_provider_that_is_away_is_said_so() -> None:
    """With a sentence, and no trace."""
    settings = Settings(console=ConsoleSettings(oidc_issuer="http://127.0.0.1:1", oidc_client_id=CLIENT))
    with TestClient(create_app(settings), base_url=BASE, follow_redirects=False) as browser:
        answer = browser.get("/oidc/login")
        assert answer.status_code == 403
        assert "does not answer" in answer.text


def test_the_provider_s_document_is_json(provider: Provider) -> None:
    """The provider of these tests is one that authlib would talk to."""
    found = httpx.get(f"{provider.url}/.well-known/openid-configuration")
    assert json.loads(found.text)["issuer"] == provider.url
