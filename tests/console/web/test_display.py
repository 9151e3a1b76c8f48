"""What an agent wrote is shown, never obeyed: invisible characters become visible."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from tachograph.console.web import display


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
