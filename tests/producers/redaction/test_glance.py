"""A glance saves time and nothing else."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.producers.redaction import Redactor, default_pack
from tachograph.producers.redaction.glance import Glance
from tachograph.producers.redaction.rules import Rule, RulePack
from tachograph.producers.redaction.samples import expand

REDACTOR = Redactor()
PACK = default_pack()
SAMPLES = [expand(sample) for rule in PACK.rules for sample in rule.match]
TEXT = st.one_of(
    st.text(max_size=30),
    st.sampled_from(SAMPLES),
    st.lists(st.sampled_from(["token", "key", "=", ": ", "a word", "@", "\n", "://", "4111 1111"]), max_size=6).map(
        "".join
    ),
)
SCALAR = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT)
FLAT = st.one_of(TEXT, st.dictionaries(TEXT, SCALAR, max_size=4))
TRIES = settings(max_examples=300, deadline=None)


@pytest.mark.parametrize("sample", SAMPLES)
def test_no_sample_of_any_rule_is_clean(sample: str) -> None:
    """Neither alone nor among other texts of a value."""
    assert not PACK.scanner.at_a_glance(sample.encode())
    assert not PACK.scanner.at_a_glance(f"a word\n{sample}\nanother".encode())


def test_ordinary_text_about_software_is_clean() -> None:
    """Words that a secret's name may hold are no reason to look closely."""
    assert PACK.scanner.at_a_glance(
        b"The parser drops the last token; see https://example.org/key for the author's @notes."
    )


@TRIES
@given(value=FLAT)
def test_a_flat_value_is_what_the_walk_makes_of_it(value: Any) -> None:
    """The same value, findings and reason."""
    assert REDACTOR.value(value) == REDACTOR._value(value, None, key_names=True)


@TRIES
@given(text=TEXT)
def test_a_text_is_what_looking_closely_makes_of_it(text: str) -> None:
    """The same text, findings and reason."""
    assert REDACTOR.text(text) == REDACTOR._text(text, None)


@pytest.mark.parametrize(
    "regex",
    [
        pytest.param(r"\Azebra\z", id="the text's own ends"),
        pytest.param(r"^zebra$", id="ends that a line may have as well"),
        pytest.param(r"(?-m)^zebra$", id="flags of its own"),
        pytest.param(r"(?P<animal>zebra)", id="a name for a group"),
    ],
)
@pytest.mark.parametrize("keywords", [(), ("token", "zebra"), ("zebra",)], ids=["always", "ordinary", "rare"])
def test_rules_of_users_are_not_overlooked(regex: str, keywords: tuple[str, ...]) -> None:
    """Whatever they say about the ends of a text, and with the same name of a group in two rules."""
    pack = RulePack(tuple(Rule(name, "animal", regex, keywords=keywords) for name in ("one", "two")))
    assert Redactor(pack).value({"a": "zebra", "b": "a word"}).value == {"a": "[REDACTED:one]", "b": "a word"}


def test_rules_that_are_too_large_together_are_looked_at_one_by_one() -> None:
    """The glance gives up, the redactor does not."""
    rules = tuple(
        Rule(f"rule-{number}", "large", rf"token{number}\pL{{1,100}}", keywords=("token",)) for number in range(9)
    )
    assert not Glance(rules, ()).is_clean(b"a word")
    assert Redactor(RulePack(rules)).text("a token7xy").text == "a [REDACTED:rule-7]"


def test_a_value_is_copied() -> None:
    """What the caller does to it afterwards does not reach the record."""
    given_value = {"a": "word"}
    redacted = REDACTOR.value(given_value)
    given_value["a"] = "other"
    assert redacted.value == {"a": "word"}
