"""Two runs compared: typed, symmetric, and silent where nothing differs."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tachograph.console.report.build import build_report
from tachograph.console.report.compare import KINDS, Comparison, compare, document_of
from tachograph.console.report.model import RunReport
from tests.console.stories import LATER, NAMES, Played

STORIES = st.sampled_from(NAMES)
TABLES = (
    "decision_events",
    "tool_calls",
    "agent_decisions",
    "context_manifests",
    "violations",
    "record_proposals",
    "evaluations",
)


@st.composite
def reports(draw: st.DrawFn, played: Played) -> RunReport:
    """A report of a story of which any rows may be missing, repeated or taken from another story."""
    rows = played.rows(draw(STORIES))
    other = played.rows(draw(STORIES))
    changed: dict[str, Any] = {}
    for table in TABLES:
        available = [*getattr(rows, table), *getattr(other, table)]
        changed[table] = draw(st.lists(st.sampled_from(available), max_size=6)) if available else []
    return build_report(replace(rows, **changed), generated_at=LATER)


quick = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@quick
@given(data=st.data())
def test_a_run_does_not_differ_from_itself(data: st.DataObject, played: Played) -> None:
    """Whatever is in it."""
    report = data.draw(reports(played))
    assert compare(report, report).differences == ()


@quick
@given(data=st.data())
def test_swapping_the_sides_mirrors_the_comparison(data: st.DataObject, played: Played) -> None:
    """And mirroring twice is doing nothing."""
    left, right = data.draw(reports(played)), data.draw(reports(played))
    found = compare(left, right)
    assert compare(right, left) == found.mirrored()
    assert found.mirrored().mirrored() == found


def _told(found: Comparison, kind: str) -> set[tuple[str, str, str | None, str | None]]:
    return {(item.where, item.change, item.left, item.right) for item in found.differences if item.kind == kind}


@pytest.fixture(scope="module")
def clean_and_leaking(played: Played) -> Comparison:
    return compare(played.report("fix_test"), played.report("sign_in"))


def test_every_kind_of_difference_is_found(clean_and_leaking: Comparison) -> None:
    """Prompts, tools, decisions, outputs, cost, and what they came to."""
    assert set(clean_and_leaking.counts) == set(KINDS) - {"outcome"}
    assert ("request: text", "changed") in {
        (where, change) for where, change, *_ in _told(clean_and_leaking, "request")
    }
    assert ("policy.no_secrets", "added", None, "severity critical, times 2") in _told(clean_and_leaking, "violation")


def test_a_prompt_is_compared_message_by_message(clean_and_leaking: Comparison) -> None:
    """What was the same in both is not told."""
    wheres = {where for where, *_ in _told(clean_and_leaking, "prompt")}
    assert "prompt 001: message 003 (user)" in wheres
    assert not any("(system)" in where for where in wheres if "prompt 001" in where)


def test_the_outcome_is_compared(played: Played) -> None:
    """A run that failed differs from one that did not."""
    found = compare(played.report("fix_test"), played.report("upgrade"))
    assert ("run: status", "changed", "succeeded", "failed") in _told(found, "outcome")
    assert ("run: error", "added", None, "TimeoutError") in _told(found, "outcome")


def test_the_document_counts_by_kind(clean_and_leaking: Comparison) -> None:
    """What `tachograph diff --json` prints."""
    document = document_of(clean_and_leaking)
    assert list(document) == ["schema_version", "left_run_id", "right_run_id", "differences", "counts"]
    assert sum(document["counts"].values()) == len(document["differences"])
