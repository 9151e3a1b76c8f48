"""What an agent wrote is shown, never obeyed: invisible characters become visible, and numbers read well."""

import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from tachograph.console.web import display

NONE = "\u2013"
NOW = datetime(2026, 5, 9, 12, tzinfo=UTC)


@given(st.text())
def test_nothing_invisible_is_left(text: str) -> None:
    """No control, format, private or unassigned character; line breaks and tabs stay."""
    left = display.visible(text).replace("\n", "").replace("\t", "")
    assert not [each for each in left if unicodedata.category(each) in {"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"}]


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_what_is_visible_stays_as_it_is(text: str) -> None:
    """Umlauts, signs, other scripts and spaces."""
    assert display.visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("\x1b[31m", "⟨ESC⟩[31m", id="escape sequence"),
        pytest.param("a\x00b", "a⟨NUL⟩b", id="null byte"),
        pytest.param("a\u202eb", "a⟨U+202E⟩b", id="right-to-left override"),
        pytest.param("a\u200bb", "a⟨U+200B⟩b", id="zero width space"),
        pytest.param("a\x7f\r\n", "a⟨DEL⟩⟨CR⟩\n", id="delete and carriage return"),
    ],
)
def test_control_characters_have_names(text: str, shown: str) -> None:
    """A person sees that something is there, and what."""
    assert display.visible(text) == shown


def test_templates_change_every_expression_but_our_own_markup() -> None:
    """One place, so that no template can forget."""
    assert display.finalize("\x1b") == "⟨ESC⟩"
    assert display.finalize(Markup("<b>")) == Markup("<b>")
    assert display.finalize(None) == ""
    assert display.finalize(3) == "3"


def test_a_long_text_says_how_much_is_left_out() -> None:
    """In lists only; the page of the thing itself shows all."""
    assert display.short("x" * 5, 5) == "xxxxx"
    assert display.short("x" * 1005, 5) == "xxxxx … (1,000 more characters)"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "now"), (59, "59 s ago"), (60, "1 min ago"), (3600, "1 h ago"), (200_000, "2 d ago"), (-120, "in 2 min")],
)
def test_moments_are_relative(seconds: int, said: str) -> None:
    """In the one unit that matters."""
    assert display.ago(NOW - timedelta(seconds=seconds), NOW) == said


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(None, NONE), (7, "7 ms"), (1500, "1.5 s"), (60_000, "1 min"), (61_000, "1 min 1 s"), (5_400_000, "1 h 30 min")],
)
def test_durations_have_the_unit_that_fits(milliseconds: int | None, said: str) -> None:
    """A dash if there is none."""
    assert display.duration(milliseconds) == said


def test_numbers_and_sizes() -> None:
    """Thousands apart; no zeros that say nothing."""
    assert [display.number(value) for value in (None, 0, 1234567, 0.5, 14.4)] == [NONE, "0", "1,234,567", "0.5", "14.4"]
    assert [display.size(value) for value in (None, 12, 2048, 3 << 20)] == [NONE, "12 B", "2.0 KB", "3.0 MB"]
