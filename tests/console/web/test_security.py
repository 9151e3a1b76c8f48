"""Who gets in, as whom, and what every answer carries. Needs no server: nobody gets as far as the data."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from tachograph.console.web import Role, create_app
from tachograph.console.web.pages import PAGES
from tachograph.console.web.roles import strongest
from tachograph.console.web.sessions import Session, Sessions
from tachograph.console.web.tokens import OneTimeTokens
from tachograph.console.web.viewing import KafkaViewLog
from tachograph.schemas.settings import ConsoleSettings, KafkaSettings, Settings
from tests.console.web.site import BASE, signed_in

NOWHERE = KafkaSettings(bootstrap_servers="127.0.0.1:1")


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_780_000_000.0

    def __call__(self) -> float:
        return self.now


class Views:
    """Remembers what would be recorded."""

    def __init__(self) -> None:
        self.seen: list[dict[str, str]] = []

    def record(self, session: Session, **view: str) -> None:
        self.seen.append({"viewer": session.viewer, **view})

    def close(self) -> None:
        pass


def made(tokens: list[str] | None = None, **console: Any) -> Starlette:
    settings = Settings(tenant_id="acme", kafka=NOWHERE, console=ConsoleSettings(**console))
    return create_app(settings, announce=(tokens if tokens is not None else []).append, views=Views())


@pytest.fixture
def stranger() -> Iterator[TestClient]:
    with TestClient(made(), base_url=BASE, follow_redirects=False) as client:
        yield client


def paths(app: Starlette) -> Iterator[tuple[str, str]]:
    """Every path and method that the application answers."""
    for route in app.routes:
        if isinstance(route, Route):
            yield from ((method, route.path) for method in route.methods or ())
        elif isinstance(route, Mount) and route.path != "/static":
            yield from (("GET", f"{route.path}{getattr(each, 'path', '')}") for each in route.routes or ())


def test_without_a_token_every_path_is_the_login_page() -> None:
    """All routes, whatever they are called, and paths that do not exist. Static files hold no data."""
    app = made()
    known = [*paths(app), ("GET", "/nothing"), ("POST", "/runs"), ("DELETE", "/run"), ("GET", "/login")]
    assert len(known) > len(PAGES)
    with TestClient(app, base_url=BASE, follow_redirects=False) as stranger:
        for method, path in known:
            answer = stranger.request(method, path, params={"id": "x", "token": "wrong"})
            assert answer.status_code == 401, (method, path)
            assert method == "HEAD" or "one-time address" in answer.text
        assert stranger.get("/static/console.css").status_code == 200


def test_a_forged_cookie_is_nobody(stranger: TestClient) -> None:
    """A session id that was never handed out."""
    stranger.cookies.set("tachograph", "x" * 43)
    assert stranger.get("/runs").status_code == 401


def test_a_token_opens_once() -> None:
    """It becomes a session in a cookie that scripts cannot read and other sites cannot send; the next is announced."""
    tokens: list[str] = []
    app = made(tokens)
    with TestClient(app, base_url=BASE, follow_redirects=False) as client:
        answer = client.get("/login", params={"token": tokens[0]})
        assert (answer.status_code, answer.headers["location"]) == (303, "/runs")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert "Path=/" in cookie
        assert tokens[0] not in cookie
    with TestClient(app, base_url=BASE, follow_redirects=False) as second:
        assert second.get("/login", params={"token": tokens[0]}).status_code == 401
        assert second.get("/login", params={"token": tokens[1]}).status_code == 303
    assert len(tokens) == 3


def test_tokens_do_not_repeat() -> None:
    """And an empty one opens nothing."""
    told: list[str] = []
    tokens = OneTimeTokens(told.append)
    assert not tokens.redeem("")
    assert tokens.redeem(told[-1])
    assert not tokens.redeem(told[0])
    assert len(set(told)) == 2


def test_with_https_the_cookie_is_secure() -> None:
    """And bound to this host by its name."""
    tokens: list[str] = []
    app = made(tokens, public_url="https://console.example.com")
    with TestClient(app, base_url="https://console.example.com", follow_redirects=False) as client:
        answer = client.get("/login", params={"token": tokens[0]})
        assert answer.headers["set-cookie"].startswith("__Host-tachograph=")
        assert "Secure" in answer.headers["set-cookie"]
        assert "max-age" in answer.headers["strict-transport-security"]
        assert client.get("/query").status_code == 200


def test_every_answer_has_a_strict_policy(stranger: TestClient) -> None:
    """Nothing inline, nothing from elsewhere, no framing, no sniffing, no referrer elsewhere; pages are not stored."""
    for path in ("/runs", "/nothing", "/static/console.css", "/static/nothing"):
        headers = stranger.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert ("no-store" in headers.get("cache-control", "")) == (not path.startswith("/static"))


def test_a_foreign_host_name_is_not_answered(stranger: TestClient) -> None:
    """A page of another name whose address was turned to ours cannot use us."""
    assert stranger.get("/runs", headers={"host": "evil.example"}).status_code == 400


POSTS = [page.path for page in PAGES if page.method == "POST"]


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("form", [{}, {"csrf": ""}, {"csrf": "x" * 43}], ids=["none", "empty", "wrong"])
def test_every_form_needs_the_session_s_secret(path: str, form: dict[str, str]) -> None:
    """Without it nothing happens, whatever the role."""
    app = made()
    with signed_in(app, "acme") as browser:
        answer = browser.post(path, data=form)
        assert answer.status_code == 403
        assert "not of your session" in answer.text
        assert app.state.services.sessions.get(browser.session.id) is not None


def test_a_form_of_another_site_is_refused() -> None:
    """Even with the secret."""
    with signed_in(made(), "acme") as browser:
        form = {"csrf": browser.session.csrf}
        assert browser.post("/logout", data=form, headers={"origin": "http://evil.example"}).status_code == 403
        assert browser.post("/logout", data=form, headers={"origin": BASE}).status_code == 303


def test_a_form_has_a_limit() -> None:
    """Nobody fills our memory."""
    with signed_in(made(), "acme") as browser:
        answer = browser.post("/query", data={"csrf": browser.session.csrf, "sql": "x" * 70_000})
        assert answer.status_code == 413


def test_signing_out_ends_the_session() -> None:
    """On our side too: the old cookie opens nothing."""
    app = made()
    with signed_in(app, "acme") as browser:
        held = browser.session.id
        browser.visit("POST", "/logout", {})
        browser.cookies.set("tachograph", held)
        assert browser.get("/query").status_code == 401


def test_a_session_ends_by_itself() -> None:
    """After its hours; and there are never more than a bounded number."""
    clock = Clock()
    sessions = Sessions(lifetime_s=3600, clock=clock)
    session = sessions.begin("me", "acme", Role.VIEWER)
    clock.now += 3599
    assert sessions.get(session.id) == session
    clock.now += 1
    assert sessions.get(session.id) is None
    assert session.id not in repr(session)


@pytest.mark.parametrize("page", [page for page in PAGES if page.role is not Role.VIEWER], ids=lambda p: p.path)
def test_pages_of_content_are_closed_to_viewers(page: Any) -> None:
    """By their declaration: nothing is read before."""
    with signed_in(made(), "acme", Role.VIEWER) as browser:
        answer = browser.visit(page.method, page.path, {"run": "r", "id": "x"})
        assert answer.status_code == 403
        assert "Yours is viewer" in answer.text


def test_roles_grow() -> None:
    """Each may what the one before it may."""
    assert [[role.may(other) for other in Role] for role in Role] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
    assert strongest(["auditor", "unknown", "viewer"]) is Role.AUDITOR
    assert strongest("operator") is Role.OPERATOR
    nothing: list[Any] = [None, "admin", [], 7]
    assert [strongest(claim) for claim in nothing] == [None] * 4


@pytest.mark.parametrize(
    ("back", "goes"),
    [
        ("/runs?agent=a", "/runs?agent=a"),
        ("//evil.example", "/runs"),
        ("/\\evil.example", "/runs"),
        ("https://evil.example", "/runs"),
        ("", "/runs"),
    ],
)
def test_colours_come_back_to_our_own_pages_only(back: str, goes: str) -> None:
    """The choice is kept in a cookie; the way back cannot leave the console."""
    with signed_in(made(), "acme") as browser:
        answer = browser.visit("POST", "/theme", {"theme": "dark", "back": back})
        assert (answer.status_code, answer.headers["location"]) == (303, goes)
        assert "tachograph_theme=dark" in answer.headers["set-cookie"]
        assert 'data-theme="dark"' in browser.get("/query").text


def test_content_that_cannot_be_recorded_is_not_shown() -> None:
    """A broker that is away: the view is refused before anything is read."""
    settings = Settings(tenant_id="acme", kafka=NOWHERE)
    with signed_in(create_app(settings, views=KafkaViewLog(settings, within_s=0.5)), "acme") as browser:
        answer = browser.visit("GET", "/run/model-call", {"run": "r", "event": "e"})
        assert answer.status_code == 503
        assert "could not be recorded" in answer.text
