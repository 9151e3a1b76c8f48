"""The console in a real browser: every page, light and dark, wide and narrow; by keyboard; live; and nothing runs.

Screenshots are kept under ``build/screenshots``. With TACHOGRAPH_IMAGES set to a folder, those of the README go there.
"""

import os
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from confluent_kafka import Producer
from playwright.sync_api import Browser, Dialog, Page, Request, ViewportSize, sync_playwright
from starlette.applications import Starlette

from tachograph.console.web import Role
from tachograph.console.web.login import cookie_name
from tachograph.console.web.rendering import address
from tachograph.schemas.topics import ViolationKind, row_topic, violation_topic
from tests.console.web.site import Site, filled
from tests.pipeline.processes import Part
from tests.sinks.rows import encoded

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.stack,
    pytest.mark.timeout(600),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: install Debian's package chromium (make browser)"),
]

ROOT = Path(__file__).parents[3]
SHOTS = ROOT / "build" / "screenshots"
WIDE: ViewportSize = {"width": 1280, "height": 800}
NARROW: ViewportSize = {"width": 390, "height": 844}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SHIFTS = """
    window.shifted = 0;
    new PerformanceObserver((list) => { for (const each of list.getEntries()) window.shifted += each.value; })
        .observe({type: "layout-shift", buffered: true});
"""
"""Sums up what moved without being asked to, as browsers count it."""
STEADY = 0.01
"""A tenth of what is called a good page."""
IMAGES = {"runs": "runs", "run": "run", "model-call": "model-call"}
"""Pages that the README shows, and the names of their files."""


@contextmanager
def served(app: Starlette) -> Iterator[str]:
    """The application on a port of this machine."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Visitor:
    """A signed-in person at a browser, and everything the browser complained about."""

    def __init__(self, page: Page, base: str, csrf: str) -> None:
        self.page = page
        self.base = base
        self.csrf = csrf
        self.complaints: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._dialog)
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("requestfailed", self._failed)

    def _failed(self, asked: Request) -> None:
        # Leaving a live page gives up the list it was asking for.
        if not (asked.url.startswith(self.base) and asked.failure == "net::ERR_ABORTED"):
            self.complaints.append(f"{asked.url}: {asked.failure}")

    def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def visit(self, method: str, path: str, given: dict[str, str]) -> None:
        if method == "GET":
            self.page.goto(self.base + address(path, **given))
            return
        # As the page's own form does it: our policy allows no other script, the browser's tools are above it.
        with self.page.expect_navigation():
            self.page.evaluate(
                """([action, fields]) => {
                    const form = Object.assign(document.createElement("form"), {method: "post", action});
                    for (const [name, value] of Object.entries(fields))
                        form.append(Object.assign(document.createElement("input"), {type: "hidden", name, value}));
                    document.body.append(form);
                    form.submit();
                }""",
                [path, given | {"csrf": self.csrf}],
            )

    def width(self) -> int:
        found: int = self.page.evaluate("document.documentElement.scrollWidth")
        return found


@contextmanager
def visitor(site: Site, chromium: Browser, tenant: str, role: Role = Role.OPERATOR) -> Iterator[Visitor]:
    app = site.app()
    with served(app) as base:
        context = chromium.new_context(viewport=WIDE)
        session = app.state.services.sessions.begin("somebody", tenant, role)
        context.add_init_script(SHIFTS)
        context.add_cookies([{"name": cookie_name(https=False), "value": session.id, "url": base, "httpOnly": True}])
        page = context.new_page()
        page.goto(f"{base}/query")
        yield Visitor(page, base, session.csrf)
        context.close()


def barriers(page: Page) -> list[str]:
    """What axe-core calls serious or critical."""
    found: Any = Axe().run(page, options={"resultTypes": ["violations"], "runOnly": ["wcag2a", "wcag2aa", "wcag21aa"]})
    return [
        f"{each['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:200]}"
        for each in found.response["violations"]
        if each["impact"] in {"serious", "critical"}
        for node in each["nodes"][:3]
    ]


def test_every_page_in_every_light_and_width(site: Site, chromium: Browser) -> None:
    """No script error, nothing wider than the screen, nothing that keeps people out; a picture of each."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    images = os.environ.get("TACHOGRAPH_IMAGES")
    found: list[str] = []
    with visitor(site, chromium, site.tenant) as at:
        for name, asked in site.pages(site.tenant).items():
            at.page.set_viewport_size(WIDE)
            at.page.emulate_media(color_scheme="light")
            at.visit(*asked)
            if images and name in IMAGES:
                (ROOT / images).mkdir(parents=True, exist_ok=True)
                at.page.screenshot(path=ROOT / images / f"{IMAGES[name]}.png")
            for size in (WIDE, NARROW):
                for scheme in SCHEMES:
                    at.page.set_viewport_size(size)
                    at.page.emulate_media(color_scheme=scheme)
                    at.page.screenshot(path=SHOTS / f"{name}-{scheme}-{size['width']}.png", full_page=True)
                    # Contrast depends on the scheme, reachability on the width: two of the four show both.
                    if (size is WIDE) == (scheme == "light"):
                        found += [f"{name} {scheme} {size['width']}: {each}" for each in barriers(at.page)]
                    # Another size moves everything, and is asked for; so is the jump to another part of the page.
                    if size is WIDE and scheme == "light" and (moved := at.page.evaluate("window.shifted")) > STEADY:
                        found.append(f"{name} moves by {moved} while it loads")
                    if at.width() > size["width"]:
                        found.append(f"{name} is {at.width()} wide on a screen of {size['width']}")
        assert found + at.complaints == []


def test_what_is_hostile_does_not_run(site: Site, chromium: Browser) -> None:
    """On every page, with every text: no script, no dialog, no request elsewhere, no layout that runs away."""
    with visitor(site, chromium, site.hostile) as at:
        for name, asked in site.pages(site.hostile).items():
            at.visit(*asked)
            assert at.page.evaluate("window.hacked") is None, name
            assert at.page.evaluate("document.querySelectorAll('main script, main a[href^=javascript]').length") == 0
            assert at.width() <= WIDE["width"], name
            at.page.set_viewport_size(NARROW)
            assert at.width() <= NARROW["width"], name
            at.page.set_viewport_size(WIDE)
        # Answers that refuse (400, 404, 409) are logged by the browser as errors of their own.
        assert [each for each in at.complaints if "the server responded with a status of" not in each] == []


def test_the_console_works_by_keyboard(site: Site, chromium: Browser) -> None:
    """A way past the navigation, focus that can be seen, a key for the search, colours that stay chosen."""
    with visitor(site, chromium, site.tenant, Role.VIEWER) as at:
        page = at.page
        page.goto(f"{at.base}/runs")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.name") == "q"
        page.keyboard.type(site.run_ids[0])
        page.keyboard.press("Enter")
        page.wait_for_url("**q=**")
        page.locator("table a", has_text=site.run_ids[0]).press("Enter")
        page.wait_for_url("**/run?id=**")
        page.get_by_role("button", name="Colours: auto").press("Enter")
        page.wait_for_selector("html[data-theme=dark]")
        page.goto(f"{at.base}/slos")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_query_is_run_by_keyboard(site: Site, chromium: Browser) -> None:
    """Control and Enter, as everywhere else where SQL is written."""
    with visitor(site, chromium, site.tenant) as at:
        page = at.page
        page.goto(f"{at.base}/query")
        page.get_by_label("One SELECT").fill("SELECT 6 * 7 AS answer")
        page.keyboard.press("Control+Enter")
        page.get_by_text("1 row in").wait_for()
        assert page.locator("tbody td").inner_text() == "42"


def test_a_run_that_goes_on_is_live(site: Site, chromium: Browser, tmp_path: Path) -> None:
    """Until it has ended, its page follows it, except where each look would be recorded."""
    tenant = f"ongoing-{site.tenant}"
    producer = Producer(site.settings.kafka.client())

    def tell(number: int, **state: str) -> None:
        row = filled("agent_runs", "x", number, tenant_id=tenant, run_id="going-on", **state)
        producer.produce(row_topic("agent_runs"), encoded("agent_runs", row), partition=0)
        assert producer.flush(30) == 0

    with visitor(site, chromium, tenant) as at, Part("sink", site.settings, tmp_path / "sink.log"):
        at.page.goto(f"{at.base}/runs")
        tell(0, status="running", completeness="open")
        at.page.locator("table a", has_text="going-on").click(timeout=120_000)
        at.page.locator(".head .badge", has_text="running").wait_for()
        tell(1, status="succeeded", completeness="complete")
        at.page.locator(".head .badge", has_text="succeeded").wait_for(timeout=120_000)
        assert at.page.evaluate("performance.getEntriesByType('navigation')[0].name").endswith("/run?id=going-on")
        at.page.reload()
        assert at.page.locator("[data-live-toggle]").count() == 0
        tell(2, status="running", completeness="open")
        at.page.wait_for_function(
            "fetch(location.href).then((page) => page.text()).then((text) => text.includes('data-live-toggle'))",
            timeout=120_000,
        )
        at.page.goto(f"{at.base}/run?id=going-on&content=1")
        assert at.page.locator("[data-live-toggle]").count() == 0
        assert at.complaints == []


def test_lists_are_live(site: Site, chromium: Browser, tmp_path: Path) -> None:
    """A run, or a violation that matches, shows up without a reload; paused, the list stays."""
    tenant = f"live-{site.tenant}"
    with visitor(site, chromium, tenant) as at, Part("sink", site.settings, tmp_path / "sink.log"):
        at.page.goto(f"{at.base}/runs")
        at.page.get_by_text("No runs yet").wait_for()
        producer = Producer(site.settings.kafka.client())
        row = filled("agent_runs", "arrived", tenant_id=tenant)
        producer.produce(row_topic("agent_runs"), encoded("agent_runs", row), partition=0)
        assert producer.flush(30) == 0
        at.page.locator("table a", has_text="arrived").wait_for(timeout=120_000)
        toggle = at.page.locator("[data-live-toggle]")
        toggle.click()
        assert (toggle.get_attribute("aria-pressed"), toggle.inner_text()) == ("false", "Paused")
        at.page.goto(f"{at.base}/violations?kind=policy")
        at.page.get_by_text("No violation matches").wait_for()
        broken = filled("violations", "broken", tenant_id=tenant, kind="policy", severity="critical")
        producer.produce(violation_topic(ViolationKind.POLICY), encoded("violations", broken), partition=0)
        assert producer.flush(30) == 0
        at.page.locator("table a", has_text="broken").wait_for(timeout=120_000)
        assert at.complaints == []
