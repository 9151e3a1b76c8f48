"""Every rule finds what it is for and leaves alone what it is not for; the page that lists them is up to date."""

from pathlib import Path

import pytest

from tachograph.producers.redaction import Redactor, default_pack
from tachograph.producers.redaction.describe import describe
from tachograph.producers.redaction.keys import HEADER_RULE
from tachograph.producers.redaction.rules import KEY_RULE, Rule
from tachograph.producers.redaction.samples import expand

RULES = default_pack().rules
MATCH = [pytest.param(rule, sample, id=f"{rule.id}: {sample}") for rule in RULES for sample in rule.match]
NO_MATCH = [pytest.param(rule, sample, id=f"{rule.id}: {sample}") for rule in RULES for sample in rule.no_match]


def found(text: str) -> set[str]:
    return {finding.rule_id for finding in Redactor().explain(text)}


@pytest.mark.parametrize(("rule", "sample"), MATCH)
def test_a_sample_of_a_rule_is_found(rule: Rule, sample: str) -> None:
    """The rule finds its sample, alone and within other text, and the placeholder names it."""
    text = expand(sample)
    assert rule.id in found(text)
    assert rule.placeholder in Redactor().text(text).text
    assert rule.placeholder in Redactor().text(f"before it\n {text}\nafter it").text


@pytest.mark.parametrize(("rule", "sample"), NO_MATCH)
def test_a_harmless_sample_is_left_alone(rule: Rule, sample: str) -> None:
    """What only looks like it is not touched by the rule."""
    assert rule.id not in found(expand(sample))


def test_there_are_enough_rules_and_each_has_samples() -> None:
    """Sixty rules at the least, each with a sample either way and no two with one id."""
    written = [rule for rule in RULES if rule.id not in {KEY_RULE, HEADER_RULE}]
    assert len(written) >= 60
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert [rule.id for rule in written if not rule.match or not rule.no_match] == []


def test_samples_hold_nothing_that_looks_live() -> None:
    """As they stand in the file, no sample of a token is one: scanners of repositories leave it in peace."""
    live = [
        (rule.id, finding.rule_id)
        for rule in RULES
        for sample in rule.match
        for finding in Redactor().explain(sample)
        if rule.id != KEY_RULE and "{{" not in sample[finding.start : finding.end]
    ]
    assert live == []


def test_the_page_is_generated_from_the_rules() -> None:
    """docs/redaction.md says what the rules say. If not: python -m tachograph.producers.redaction.docs."""
    page = Path(__file__).parents[3] / "docs" / "redaction.md"
    assert page.read_text(encoding="utf-8") == describe(default_pack())
