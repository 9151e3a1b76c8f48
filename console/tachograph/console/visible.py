"""What an agent wrote is hostile: characters that could drive a terminal or hide text are shown instead of obeyed.

Control characters (ANSI escapes start with one), direction overrides, zero-width characters, lone surrogates and line
separators are replaced by their escapes. Letters, marks, emoji and plain spaces stay as they are.
"""

import re
from typing import Final

CELL_LIMIT: Final = 2000
"""Characters of one value in a table. The rest is counted, not shown; ``--json`` has all of it."""

_ODD: Final = re.compile(r"[^\x20-\x7e]")
"""Most texts are plain; only what is not is looked at character by character."""


def visible(text: str, *, keep: str = "\n") -> str:
    """The text with everything unprintable as an escape, but for the characters in ``keep``."""
    return _ODD.sub(lambda odd: odd[0] if odd[0].isprintable() or odd[0] in keep else escaped(odd[0]), text)


def visible_line(text: str) -> str:
    """The same on one line: line breaks and tabs are escapes, too."""
    return visible(text, keep="")


def visible_json(document: str) -> str:
    """JSON text whose strings hold no raw unprintable character. A reader gets the same values from it."""
    return _ODD.sub(lambda odd: odd[0] if odd[0].isprintable() or odd[0] == "\n" else _json_escape(odd[0]), document)


def clipped(text: str, limit: int = CELL_LIMIT) -> str:
    """The beginning of a long text, and how much more there was: nothing is hidden without a word."""
    return text if len(text) <= limit else f"{text[:limit]} … ({len(text) - limit:,} characters more)"


def escaped(character: str) -> str:
    r"""A character as ``\x1b``, ``\u202e`` or ``\U000e0001``."""
    number = ord(character)
    if number <= 0xFF:  # noqa: PLR2004 - what two digits hold
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004 - four digits


def _json_escape(character: str) -> str:
    return "".join(f"\\u{unit:04x}" for unit in _utf16(ord(character)))


def _utf16(number: int) -> tuple[int, ...]:
    if number <= 0xFFFF:  # noqa: PLR2004 - one unit
        return (number,)
    number -= 0x10000
    return 0xD800 + (number >> 10), 0xDC00 + (number & 0x3FF)
