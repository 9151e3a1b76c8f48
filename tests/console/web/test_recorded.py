"""What the console itself writes: views of content, and dead letters that go back where they came from."""

import uuid
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tachograph.console.database import reader
from tachograph.console.web import Role
from tachograph.schemas.topics import BY_NAME, DLQ, EVENTS
from tests.console.web.site import NOT_A_RECORD, Site, signed_in
from tests.console.web.test_pages import words
from tests.pipeline.processes import Part, wait_for

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

VIEWS = (
    "SELECT kind, role, run_id, target, detail FROM content_views "
    "WHERE tenant_id = {t:String} AND viewer = {v:String} ORDER BY occurred_at"
)
LETTERS = "SELECT dead_letter_id FROM dead_letters WHERE tenant_id = {t:String} ORDER BY _offset"


def test_every_view_of_content_can_be_queried(site: Site, tmp_path: Path) -> None:
    """Who, as what, which run and which part of it; looking without content leaves nothing."""
    viewer = f"ada-{uuid.uuid4().hex[:6]}"
    pages = site.pages(site.tenant)
    ids = site.ids(site.tenant)
    with signed_in(site.app(), site.tenant, Role.AUDITOR, viewer) as browser:
        for name in ("runs", "run", "snapshot", "record", "violations", "slos", "agents", "health", "access"):
            assert browser.visit(*pages[name]).status_code == 200
        for name in ("run-content", "model-call", "tool-call", "snapshot-content", "record-content", "query-asked"):
            assert browser.visit(*pages[name]).status_code == 200
        assert browser.visit(*pages["dead-letter-content"]).status_code == 200
        browser.visit("GET", "/runs", {"q": "parser", "deep": "1"})
        with Part("sink", site.settings, tmp_path / "sink.log") as sink, reader(site.settings) as database:

            def recorded() -> list[tuple[str, ...]]:
                return [tuple(row) for row in database.rows(VIEWS, {"t": site.tenant, "v": viewer})]

            wait_for(lambda: len(recorded()) >= 8, lambda: f"{recorded()}", sink)
        shown = words(browser.get("/access", params={"viewer": viewer}).text)
    run, record_run = ids["run"], ids["record_run"]
    assert recorded_of(site, viewer) == [
        ("run", "auditor", run, "", ""),
        ("model_call", "auditor", run, ids["event"], ""),
        ("tool_call", "auditor", run, ids["tool"], ""),
        ("snapshot", "auditor", ids["snapshot_run"], ids["snapshot"], ""),
        ("record", "auditor", record_run, ids["record"], ""),
        ("query", "auditor", "", "", "SELECT * FROM agent_runs LIMIT 5"),
        ("dead_letter", "auditor", "", ids["letter"], ""),
        ("search", "auditor", "", "", "parser"),
    ]
    assert shown.count(viewer) >= 8


def recorded_of(site: Site, viewer: str) -> list[tuple[str, ...]]:
    with reader(site.settings) as database:
        return [tuple(row) for row in database.rows(VIEWS, {"t": site.tenant, "v": viewer})]


def test_a_dead_letter_goes_back_as_it_was(site: Site, tmp_path: Path) -> None:
    """The original bytes and headers to the topic that they came from, where they fail again and come back."""
    tenant = f"letters-{uuid.uuid4().hex[:6]}"
    producer = Producer(site.settings.kafka.client())
    producer.produce(
        EVENTS.name, NOT_A_RECORD, b"key", partition=1, headers=[("ce_source", f"/tenants/{tenant}/agents/a".encode())]
    )
    assert producer.flush(30) == 0
    with (
        Part("worker", site.settings, tmp_path / "worker.log") as worker,
        Part("sink", site.settings, tmp_path / "sink.log") as sink,
        reader(site.settings) as database,
    ):

        def letters() -> list[str]:
            return [row[0] for row in database.rows(LETTERS, {"t": tenant})]

        wait_for(lambda: len(letters()) == 1, lambda: f"{letters()}", worker, sink)
        with signed_in(site.app(), tenant, Role.AUDITOR) as browser:
            letter = {"id": letters()[0]}
            assert "Send back" not in browser.visit("GET", "/dead-letter", letter).text
            assert browser.visit("POST", "/dead-letter/redrive", letter).status_code == 403
        with signed_in(site.app(), tenant) as browser:
            answer = browser.visit("POST", "/dead-letter/redrive", letter)
            assert answer.status_code == 303
            assert "Sent back to" in browser.get(answer.headers["location"]).text
        wait_for(lambda: len(letters()) == 2, lambda: f"{letters()}", worker, sink)
        [row] = database.rows(
            "SELECT source_topic, source_partition, size_bytes FROM dead_letters "
            "WHERE tenant_id = {t:String} AND dead_letter_id = {id:String}",
            {"t": tenant, "id": letters()[1]},
        )
    assert tuple(row) == (EVENTS.name, 1, len(NOT_A_RECORD))


def test_a_letter_that_names_a_foreign_topic_is_not_sent(site: Site, tmp_path: Path) -> None:
    """Its topic is a header, which anybody may have written."""
    tenant = f"foreign-{uuid.uuid4().hex[:6]}"
    producer = Producer(site.settings.kafka.client())
    producer.produce(
        DLQ.name,
        b"x",
        partition=0,
        headers=[("ce_source", f"/tenants/{tenant}/agents/a".encode()), ("__connect.errors.topic", b"payments")],
    )
    assert producer.flush(30) == 0
    with Part("sink", site.settings, tmp_path / "sink.log") as sink, reader(site.settings) as database:
        wait_for(lambda: len(database.rows(LETTERS, {"t": tenant})) == 1, lambda: "no letter", sink)
        [[letter]] = database.rows(LETTERS, {"t": tenant})
    with signed_in(site.app(), tenant) as browser:
        answer = browser.visit("POST", "/dead-letter/redrive", {"id": letter})
    assert answer.status_code == 409
    assert "not sent anywhere" in answer.text
    assert "payments" not in BY_NAME
