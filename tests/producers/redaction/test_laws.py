"""Laws of redaction, on random text."""

import dataclasses
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.producers.redaction import Redactor, default_pack
from tachograph.producers.redaction.engine import Deadline, Engine
from tachograph.producers.redaction.rules import RulePack
from tachograph.producers.redaction.samples import expand

REDACTOR = Redactor()
PACK = default_pack()
SAMPLES = [expand(sample) for rule in PACK.rules for sample in rule.match]
CANARIES = [
    expand(sample)
    for sample in (
        "ghp_{{W:36}}",
        "sk-ant-api03-{{b:95}}",
        "AKIA{{u:16}}",
        "glpat-{{b:20}}",
        "AIza{{b:35}}",
        "hvs.{{b:30}}",
    )
]
PIECES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(SAMPLES),
    st.sampled_from(
        ["password=", "token: ", '"', "\\", "[REDACTED:email]", "[REDACTED:", "]", "%40", "%", "=", "\n", "--"]
    ),
)
TEXT = st.lists(PIECES, max_size=8).map("".join)
JSON_LIKE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT, st.binary(max_size=20), st.datetimes()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(TEXT, st.integers(), st.none(), st.binary(max_size=8)), inner, max_size=4),
        st.frozensets(st.integers(), max_size=3),
    ),
    max_leaves=12,
)
NEAR = Engine(PACK)
EVERYWHERE = Engine(RulePack(tuple(dataclasses.replace(rule, window=0) for rule in PACK.rules)))
TRIES = settings(max_examples=150, deadline=None)


@TRIES
@given(before=TEXT, canary=st.sampled_from(CANARIES), after=st.one_of(st.just(""), TEXT.map(lambda text: f" {text}")))
def test_a_canary_never_comes_through(before: str, canary: str, after: str) -> None:
    """Wherever it stands, glued to whatever precedes it."""
    assert canary not in REDACTOR.text(before + canary + after).text


@TRIES
@given(before=st.text(max_size=40), canary=st.sampled_from(CANARIES), after=st.text(max_size=40))
def test_a_canary_in_plain_text_never_comes_through(before: str, canary: str, after: str) -> None:
    """Nor glued to what follows."""
    assert canary not in REDACTOR.text(before + canary + after).text


@TRIES
@given(text=TEXT)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    """The result has nothing left to find."""
    once = REDACTOR.text(text)
    again = REDACTOR.text(once.text)
    assert (again.text, again.findings) == (once.text, ())


@TRIES
@given(text=TEXT)
def test_text_without_findings_is_unchanged(text: str) -> None:
    """Unless it was no text that can be stored."""
    result = REDACTOR.text(text)
    storable = "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
    if not result.findings and storable:
        assert result.text == text
    assert bool(result.findings) == bool(REDACTOR.explain(text))
    result.text.encode()


@TRIES
@given(value=JSON_LIKE, canary=st.sampled_from(CANARIES), as_key=st.booleans())
def test_values_become_json_without_the_canary(value: Any, canary: str, as_key: bool) -> None:
    """Never raises, is JSON, holds no canary, and redacting it again changes nothing."""
    result = REDACTOR.value({canary: value} if as_key else [value, canary])
    text = json.dumps(result.value, allow_nan=False)
    assert canary not in text
    assert REDACTOR.value(result.value).value == result.value


@TRIES
@given(pieces=st.lists(st.one_of(st.sampled_from(SAMPLES), st.text(max_size=300)), max_size=6))
def test_looking_near_keywords_finds_what_looking_everywhere_finds(pieces: list[str]) -> None:
    """Windows save time and nothing else."""
    data = "\n".join(pieces).encode("utf-8", "replace")
    assert set(NEAR.find(data, Deadline(60))) == set(EVERYWHERE.find(data, Deadline(60)))
