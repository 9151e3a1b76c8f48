"""What an agent wrote is shown, not obeyed: on a terminal, in a report, in JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.console.visible import clipped, visible, visible_json, visible_line

ANY = st.text(st.characters(), max_size=50)
"""Lone surrogates included."""


@given(ANY)
def test_nothing_unprintable_is_left(text: str) -> None:
    """But for line breaks, where they are wanted."""
    assert all(character.isprintable() or character == "\n" for character in visible(text))
    assert visible_line(text).isprintable()


@given(ANY)
def test_printable_text_is_left_alone(text: str) -> None:
    """Letters of any language, marks and emoji are not touched."""
    plain = "".join(character for character in text if character.isprintable())
    assert visible(plain) == plain


@given(ANY)
def test_nothing_is_taken_away(text: str) -> None:
    """Every character leaves something."""
    assert len(visible(text)) >= len(text)


@given(st.dictionaries(ANY, ANY | st.integers() | st.none()))
def test_json_means_the_same(document: dict[str, object]) -> None:
    """A reader of the escaped document gets the same values, and a terminal gets nothing to obey."""
    shown = visible_json(json.dumps(document, ensure_ascii=False, indent=2))
    assert json.loads(shown) == document
    assert all(character.isprintable() or character == "\n" for character in shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("\x1b[2Jgone", "\\x1b[2Jgone", id="escape sequence"),
        pytest.param("\x9b2J", "\\x9b2J", id="the same in one byte"),
        pytest.param("user\u202etxt.exe", "user\\u202etxt.exe", id="right-to-left override"),
        pytest.param("pay\u200bpal", "pay\\u200bpal", id="zero-width space"),
        pytest.param("a\U000e0041b", "a\\U000e0041b", id="tag character"),
        pytest.param("a\x00b", "a\\x00b", id="null byte"),
        pytest.param("a\rb", "a\\x0db", id="carriage return"),
        pytest.param("größe 漢字 🙂", "größe 漢字 🙂", id="other languages"),
    ],
)
def test_how_it_looks(text: str, shown: str) -> None:
    """An escape that a person can look up."""
    assert visible(text) == shown


def test_a_long_text_says_how_much_is_missing() -> None:
    """Nothing is hidden without a word."""
    assert clipped("x" * 1_000_000, 10) == "xxxxxxxxxx … (999,990 characters more)"
    assert clipped("short", 10) == "short"
