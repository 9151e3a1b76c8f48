"""Tenant A never sees B, and a viewer never sees content: over every route there is."""

import pytest

from tachograph.console.web import Role
from tachograph.console.web.pages import PAGES
from tests.console.web.site import Site, signed_in
from tests.console.web.test_pages import words

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]


def test_every_route_is_visited(site: Site) -> None:
    """A page that is added is added here too, or this fails."""
    visited = {(method, path) for method, path, _ in site.pages(site.tenant).values()}
    elsewhere = {("POST", "/logout"), ("POST", "/theme"), ("POST", "/dead-letter/redrive")}
    assert visited | elsewhere == {(page.method, page.path) for page in PAGES}


@pytest.mark.parametrize("role", Role)
def test_one_tenant_never_sees_another(site: Site, role: Role) -> None:
    """Asked for the other's things by their ids, and in every list, there is nothing of the other's."""
    with signed_in(site.app(), site.tenant, role) as browser:
        for name, (method, path, given) in site.pages(site.other).items():
            answer = browser.visit(method, path, given)
            assert site.canary not in answer.text, (name, words(answer.text)[:500])
            assert site.other not in answer.text, name
        for name, (method, path, given) in site.pages(site.tenant).items():
            assert site.canary not in browser.visit(method, path, given).text, name


def test_the_other_tenant_sees_its_own(site: Site) -> None:
    """So that the test above can fail."""
    with signed_in(site.app(), site.other) as browser:
        seen = [name for name, page in site.pages(site.other).items() if site.canary in browser.visit(*page).text]
    assert {"runs", "run", "model-call", "tool-call", "record", "violations", "agents", "health", "access"} <= set(seen)


def test_the_tenant_is_taken_from_the_session_alone(site: Site) -> None:
    """Not from the address, a header or a cookie."""
    with signed_in(site.app(), site.tenant) as browser:
        browser.cookies.set("tenant_id", site.other)
        answer = browser.get(
            "/runs", params={"tenant": site.other, "tenant_id": site.other}, headers={"x-tenant": site.other}
        )
        assert site.canary not in answer.text
        assert all(run in answer.text for run in site.run_ids)


def test_another_tenant_cannot_send_a_dead_letter_back(site: Site) -> None:
    """Nor one that names nobody, unless it is the default tenant."""
    letter = site.ids(site.other)["letter"]
    with signed_in(site.app(), site.hostile) as browser:
        answer = browser.visit("POST", "/dead-letter/redrive", {"id": letter})
        assert answer.status_code == 404


CAPTURED = {
    "agent_runs": "user_request_raw",
    "decision_events": "action_summary",
    "tool_calls": "output",
    "violations": "evidence",
    "agent_failures": "message",
    "decision_records": "outputs",
}


def test_a_viewer_sees_no_captured_content(site: Site) -> None:
    """Texts of the recorded tenant, from every column that holds content, on no page; an auditor sees them."""
    from tachograph.console.database import reader  # noqa: PLC0415 - used here only

    with reader(site.settings) as database:
        texts = {
            str(row[0])
            for table, column in CAPTURED.items()
            for row in database.rows(
                f"SELECT DISTINCT {column} FROM {table} WHERE tenant_id = {{t:String}} "  # noqa: S608 - ours
                f"AND length(ifNull({column}, '')) > 12",
                {"t": site.tenant},
            )
        }
    assert len(texts) > 5
    pages = site.pages(site.tenant) | {f"run {run}": ("GET", "/run", {"id": run}) for run in site.run_ids}
    with signed_in(site.app(), site.tenant, Role.VIEWER) as browser:
        for name, page in pages.items():
            seen = words(browser.visit(*page).text)
            assert not [text for text in texts if words(text) in seen], name
    with signed_in(site.app(), site.tenant, Role.AUDITOR) as browser:
        everything = " ".join(
            words(browser.get("/run", params={"id": run, "content": "1"}).text) for run in site.run_ids
        )
    assert [text for text in texts if words(text) in everything]
