"""What people find on the console's pages, on data that came through the real pipeline."""

import html
import re
import time
from dataclasses import replace

import pytest

from tachograph.console.web import Role, create_app
from tests.console.web.site import Browser, Site, signed_in

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]


def words(text: str) -> str:
    """What a person reads."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def shown(browser: Browser, path: str, **given: str) -> str:
    answer = browser.get(path, params=given)
    assert answer.status_code == 200, words(answer.text)[-300:]
    return words(answer.text.split("<main", 1)[1])


def test_every_page_opens(site: Site) -> None:
    """For the tenant that was recorded by the SDK, as an operator."""
    with signed_in(site.app(), site.tenant) as browser:
        for name, (method, path, given) in site.pages(site.tenant).items():
            answer = browser.visit(method, path, given)
            expected = 303 if name == "home" else 200
            assert answer.status_code == expected, (name, words(answer.text)[-300:])


def test_the_list_of_runs_can_be_filtered_by_address(site: Site) -> None:
    """Each filter by itself, and what none matches; a filter of the address stays in the form."""
    with signed_in(site.app(), site.tenant) as browser:
        assert all(run in shown(browser, "/runs") for run in site.run_ids)
        failed = shown(browser, "/runs", status="failed", period="24h")
        assert 0 < sum(run in failed for run in site.run_ids) < len(site.run_ids)
        for given in ({"environment": "local"}, {"agent": "demo-coder"}, {"period": "1h"}, {"status": "succeeded"}):
            assert sum(run in shown(browser, "/runs", **given) for run in site.run_ids) >= len(site.run_ids) - 1
        assert "No run matches" in shown(browser, "/runs", environment="prod")
        assert "No run matches" in shown(browser, "/runs", agent="nobody")
        incomplete = shown(browser, "/runs", completeness="incomplete")
        assert 0 < sum(run in incomplete for run in site.run_ids) < len(site.run_ids)
        assert 0 < sum(run in shown(browser, "/runs", violation="any") for run in site.run_ids) < len(site.run_ids)
        assert site.run_ids[0] in shown(browser, "/runs", q=site.run_ids[0].upper())
        assert "No run matches" in shown(browser, "/runs", violation="no.such.code")
        assert 'value="T-10" placeholder' in browser.get("/runs", params={"q": "T-10"}).text


def test_periods_end_where_they_say(site: Site) -> None:
    """Two hours later the last hour is empty, of runs and of violations; the last day is not."""
    settings = site.settings.model_copy(update={"tenant_id": site.tenant})
    with signed_in(create_app(settings, clock=lambda: time.time() + 7200), site.tenant, Role.VIEWER) as browser:
        for path, none in (("/runs", "No run matches"), ("/violations", "No violation matches")):
            assert none in shown(browser, path, period="1h")
            assert none not in shown(browser, path, period="24h")
        assert "No agent recorded a run within 1h" in shown(browser, "/agents", period="1h")


def test_filters_that_are_often_asked_for_are_one_click(site: Site) -> None:
    """They are addresses, too, and the one in force is marked."""
    with signed_in(site.app(), site.tenant, Role.VIEWER) as browser:
        text = browser.get("/runs", params={"violation": "critical"}).text
        critical = {run for run in site.run_ids if run in text}
        chips = dict(re.findall(r'<a href="(/runs[^"]*)"( aria-current="true")?>', text.split('class="chips"')[1]))
        assert [path for path, marked in chips.items() if marked] == ["/runs?violation=critical"]
        assert all(browser.get(html.unescape(path)).status_code == 200 for path in chips)
        badges = {run: browser.get("/run", params={"id": run}).text for run in site.run_ids}
    assert critical == {run for run, page in badges.items() if re.search(r">\d+ critical<", page)} != set()


def test_a_run_begins_with_what_was_found(site: Site) -> None:
    """The worst first, linked to the evidence; the bar it is about is marked; a run without says nothing."""
    with signed_in(site.app(), site.tenant, Role.VIEWER) as browser:
        pages = {run: browser.get("/run", params={"id": run}).text for run in site.run_ids}
    leaking = next(page for run, page in pages.items() if run.startswith("run_sign_in"))
    found = leaking.split('id="found-title"')[1].split("</section>")[0]
    assert '>critical</span> <span class="count">2 \N{MULTIPLICATION SIGN}</span> <a href="#violations">' in found
    assert "policy.no_secrets" in found
    assert leaking.index('id="found-title"') < leaking.index('id="timeline"') < leaking.index('id="violations"')
    timeline = leaking.split('id="timeline"')[1].split("</section>")[0]
    marked = [bar for bar in timeline.split("<li ")[1:] if "1 critical" in bar]
    assert [re.findall(r'class="(\w+) d', bar)[0] for bar in marked] == ["tool", "action"]
    timing_out = next(page for run, page in pages.items() if run.startswith("run_upgrade"))
    assert "TimeoutError" in timing_out.split('id="found-title"')[1].split("</section>")[0]
    assert 'id="found-title"' not in next(page for run, page in pages.items() if run.startswith("run_fix_test"))


def test_request_texts_are_searched_by_auditors_only(site: Site) -> None:
    """A search in captured content is a view of it: recorded for auditors, ignored for viewers."""
    with signed_in(site.app(), site.tenant, Role.AUDITOR) as browser:
        text = browser.get("/run", params={"id": site.run_ids[0], "content": "1"}).text
        request = html.unescape(re.findall(r'aria-label="Request">([^<]+)<', text)[0])
        assert site.run_ids[0] in shown(browser, "/runs", q=request, deep="1")
        assert "No run matches" in shown(browser, "/runs", q=request)
    with signed_in(site.app(), site.tenant, Role.VIEWER) as browser:
        assert "No run matches" in shown(browser, "/runs", q=request, deep="1")


def test_pages_of_the_list_follow_each_other(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """By key, so that nothing is shown twice or left out while runs arrive."""
    monkeypatch.setattr("tachograph.console.web.queries.runs.PAGE", 1)
    with signed_in(site.app(), site.tenant) as browser:
        seen, path = [], "/runs"
        while path:
            text = browser.get(path).text
            seen += re.findall(r'href="/run\?id=([^"&]+)"', text)
            older = re.search(r'<a href="([^"]+)" rel="next"', text)
            path = html.unescape(older[1]) if older else ""
    assert sorted(seen) == sorted(site.run_ids)


def test_a_run_shows_its_decisions_and_signals_and_judges_none(site: Site) -> None:
    """Badges, confidence, options with the chosen one, reason codes; signals by type with value, weight and counts."""
    with signed_in(site.app(), site.tenant, Role.VIEWER) as browser:
        pages = {run: browser.get("/run", params={"id": run}).text for run in site.run_ids}
    page = next(text for text in pages.values() if 'class="decisions"' in text and 'class="group"' in text)
    assert ">decisions and signals<" in page
    decisions = page.split('id="decisions"')[1].split("</section>")[0]
    assert re.search(r'badge hue\d">[a-z ]+<', decisions)
    assert 'class="option selected"' in decisions
    assert "(selected)" in decisions
    assert 'aria-label="Confidence' in decisions
    assert "reason <code>" in decisions
    signals = page.split('id="signals"')[1].split("</section>")[0]
    assert re.search(r'class="flag (yes|no)">(true|false)<', signals)
    assert re.search(r"\d+ true, \d+ false", signals)
    assert "signals of" in signals
    assert "These lists show what was observed" in signals
    assert "correlated with" in signals
    for judging in ("better", "worse", "score of", "quality score", "correct"):
        assert judging not in words(decisions + signals).replace("do not say that one choice or run was right", "")


def test_signals_show_weights_and_metadata(site: Site) -> None:
    """Of the tenant whose every text is known."""
    with signed_in(site.app(), site.other, Role.VIEWER) as browser:
        page = words(browser.get("/run", params={"id": site.known}).text)
    signals = page.split("Quality signals")[1].split("Context")[0]
    assert "weight 0.5" in signals
    assert f"{site.canary} {site.canary}" in signals, "a pair of metadata"


def test_context_in_and_out_stand_side_by_side(site: Site) -> None:
    """What was in, what was considered and left out, why, and the tokens by source."""
    with signed_in(site.app(), site.tenant, Role.VIEWER) as browser:
        pages = [browser.get("/run", params={"id": run}).text for run in site.run_ids]
    context = next(text.split('id="context"')[1].split("</section>")[0] for text in pages if "<h3>In the" in text)
    assert "Considered and left out" in context
    assert "score_below_threshold" in context
    assert "Tokens by source" in words(context)


def test_a_model_call_shows_its_bundle_and_what_changed(site: Site) -> None:
    """In its capture mode, beside the call before."""
    with signed_in(site.app(), site.tenant) as browser:
        _, path, given = site.pages(site.tenant)["model-call"]
        page = shown(browser, path, **given)
    assert "redacted" in page
    assert "Changed since the call before" in page
    assert re.search(r"\d+ messages unchanged, \d+ added", page)
    assert "joined call" in page


def test_tool_calls_are_nested_and_joined(site: Site) -> None:
    """The timeline indents a call under the call that made it."""
    with signed_in(site.app(), site.tenant, Role.VIEWER) as browser:
        pages = [browser.get("/run", params={"id": run}).text for run in site.run_ids]
    assert any(re.search(r'<li class="tool d2"', page) for page in pages)
    assert any("complete" in page.split('id="tools"')[1] for page in pages)


def test_a_sealed_record_explains_and_verifies_itself(site: Site) -> None:
    """Outcome, evidence, policy, approvals, controls and lineage; place, checkpoint and a proof that is checked now."""
    pages = site.pages(site.tenant)
    with signed_in(site.app(), site.tenant) as browser:
        record = words(browser.visit(*pages["record-content"]).text)
        checked = words(browser.visit(*pages["record-verified"]).text)
    for said in ("refund_amount_inr", "kg:order:ord_881", "POLICY_RETURNS_V1", "lead_77", "fraud_signal_high"):
        assert said in record
    for said in ("Seal and proof", "Record hash", "Checkpoint 3 records", "What the rules said", "sealed"):
        assert said in record
    assert checked.count("verified") == 3
    assert "broken" not in checked
    assert "of 3 records; proof of" in checked


def test_a_run_without_records_says_so(site: Site) -> None:
    """Not sealed is a state like any other."""
    with signed_in(site.app(), site.tenant, Role.VIEWER) as browser:
        page = shown(browser, "/run", id=site.run_ids[1])
    assert "not sealed" in page


def test_a_forged_record_is_shown_as_broken(site: Site) -> None:
    """The other tenant's record is no record at all."""
    with signed_in(site.app(), site.other) as browser:
        checked = words(browser.visit(*site.pages(site.other)["record-verified"]).text)
    assert "broken" in checked
    assert "verified" not in checked


def test_a_snapshot_is_behind_one_more_click(site: Site) -> None:
    """The pointer for everybody; the bytes after a form, to auditors."""
    pages = site.pages(site.tenant)
    with signed_in(site.app(), site.tenant) as browser:
        asked = words(browser.visit(*pages["snapshot"]).text)
        assert "Show the content" in asked
        assert "Content This view was recorded" not in asked
        opened = words(browser.visit(*pages["snapshot-content"]).text)
        assert "This view was recorded" in opened
        assert "messages" in opened or "role" in opened
    with signed_in(site.app(), site.tenant, Role.VIEWER) as browser:
        assert "for auditors and operators" in browser.visit(*pages["snapshot"]).text
        assert browser.visit(*pages["snapshot-content"]).status_code == 403


def test_violations_can_be_filtered_by_address(site: Site) -> None:
    """By kind, severity, code, agent and time; counts of the day lead to the same filters; none is said so."""
    with signed_in(site.app(), site.tenant, Role.VIEWER) as browser:
        everything = shown(browser, "/violations")
        assert "policy.no_secrets" in everything
        assert "observability.missing_tool_result" in everything
        for given in ({"kind": "policy"}, {"severity": "critical"}, {"code": "policy.no_secrets"}):
            text = browser.get("/violations", params=given).text
            listed = words(text.split("<tbody>")[1])
            assert "policy.no_secrets" in listed, given
            assert "observability.missing_tool_result" not in listed, given
            assert re.search(r'<option value="[^"]+" selected>', text), given
        assert "policy.no_secrets" in shown(browser, "/violations", agent="demo-coder", period="24h")
        for given in ({"agent": "nobody"}, {"code": "no.such.code"}, {"kind": "integrity"}):
            assert "No violation matches" in shown(browser, "/violations", **given)
        tally = browser.get("/violations").text.split('class="tally"')[1].split("</ul>")[0]
        critical = re.findall(r'<a class="badge bad" href="([^"]+)">(\d+) critical<', tally)
        assert critical
        for path, count in critical:
            assert browser.get(html.unescape(path)).text.count('data-label="Severity"') == int(count)


def test_pages_of_violations_follow_each_other(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """By key, each once, down to the first."""
    with signed_in(site.app(), site.tenant, Role.VIEWER) as browser:
        whole = browser.get("/violations").text.count('data-label="Severity"')
        monkeypatch.setattr("tachograph.console.web.queries.violations.PAGE", 2)
        seen, path = 0, "/violations"
        while path:
            text = browser.get(path).text
            seen += text.count('data-label="Severity"')
            older = re.search(r'<a href="([^"]+)" rel="next"', text)
            path = html.unescape(older[1]) if older else ""
    assert seen == whole > 2


def test_the_pipeline_is_told_in_numbers(site: Site) -> None:
    """Runs by completeness, what was lost, every consumer with its lag, the spool, and the dead letters."""
    with signed_in(site.app(), site.tenant, Role.VIEWER) as browser:
        page = shown(browser, "/health")
        text = browser.get("/health").text
    assert f"Runs {len(site.run_ids)}" in page
    assert re.search(r"Incomplete 1 ", page)
    assert re.search(r"Lost by recorders 3 records", page)
    for part in ("worker", "sink", "snapshots", "evaluators", "sealer", "alerts", "objectives"):
        assert re.search(rf'data-label="Part">{part}</td>.*?data-label="Messages behind">', text), part
    assert re.search(r'data-label="Part">alerts</td>.*?none">not running<.*?never ran', text)
    assert "pool" in page
    assert re.search(r'href="/dead-letter\?id=[^"]+">tachograph.events.v1 0:\d+<', text)


def test_a_part_that_is_needed_and_missing_stands_out(site: Site) -> None:
    """Without a sink nothing can be read; nobody has to run the alerts."""
    sink = site.settings.sink.model_copy(update={"group_id": f"nobody-{site.tenant}"})
    missing = replace(site, settings=site.settings.model_copy(update={"sink": sink}))
    with signed_in(missing.app(), site.tenant, Role.VIEWER) as browser:
        text = browser.get("/health").text
    assert re.search(r'data-label="Part">sink</td>.*?badge bad">not running<', text)


def test_without_a_broker_the_pipeline_page_says_so(site: Site) -> None:
    """What ClickHouse knows is still shown."""
    kafka = site.settings.kafka.model_copy(update={"bootstrap_servers": "127.0.0.1:9", "request_timeout_ms": 1500})
    away = replace(site, settings=site.settings.model_copy(update={"kafka": kafka}))
    with signed_in(away.app(), site.tenant, Role.VIEWER) as browser:
        page = shown(browser, "/health")
    assert "Kafka at 127.0.0.1:9 does not answer" in page
    assert f"Runs {len(site.run_ids)}" in page


def test_an_objective_shows_its_history_and_its_alerts(site: Site) -> None:
    """Budget and events over the period as charts with words for those who see none; what was announced."""
    with signed_in(site.app(), site.other, Role.VIEWER) as browser:
        alerts = shown(browser, "/slos")
    assert "No alert was announced" in alerts
    with signed_in(site.app(), site.tenant, Role.VIEWER) as browser:
        page = browser.get("/slo", params={"name": "tool-success"}).text
        overview = browser.get("/slos").text
    assert 'role="img" aria-label="Budget left over the last period"' in page
    assert 'class="line" points="' in page
    assert 'role="img" aria-label="Events and bad events over the last period"' in page
    assert re.search(r'<rect class="bad"[^>]* height="(?!0\.00)[\d.]+"', page), "the calls that timed out"
    assert re.search(r'aria-label="Budget (left [^"]+|overspent)"', overview)


def test_objectives_show_budget_and_burn_rates(site: Site) -> None:
    """Of this tenant alone, with a chart of the period."""
    with signed_in(site.app(slo={}), site.tenant, Role.VIEWER) as browser:
        assert "Tool success" in shown(browser, "/slos")
        page = browser.get("/slo", params={"name": "tool-success"}).text
    assert "Burn rates" in page
    assert "Alerts at" in page


def test_agents_are_summed_up(site: Site) -> None:
    """Counts of runs, violations, tokens; when last seen."""
    with signed_in(site.app(), site.tenant, Role.VIEWER) as browser:
        page = shown(browser, "/agents")
    assert re.search(rf"demo-coder [\d. ]*{len(site.run_ids)} ", page)


def test_what_does_not_exist_is_said_so(site: Site) -> None:
    """With its status, on a page of ours."""
    with signed_in(site.app(), site.tenant) as browser:
        for path in ("/run?id=nothing", "/run/model-call?run=x&event=y", "/run/tool-call?run=x&tool=y"):
            assert browser.get(path).status_code == 404
        for path in ("/run/snapshot?run=x&id=y", "/run/record?run=x&record=y", "/slo?name=x", "/dead-letter?id=x"):
            assert browser.get(path).status_code == 404
        assert "no such page" in browser.get("/nothing").text
