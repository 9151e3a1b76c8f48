"""How values become text.

What an agent wrote may hold anything: what would be invisible, or would drive a terminal or the direction of writing,
is made visible here, for every expression of every template.
"""

import re
import unicodedata
from typing import Any, Final

from markupsafe import Markup

DIGEST: Final = 16
SHORT: Final = 160
"""Characters of a cell in a list. The page of the thing itself shows all."""

_KEPT: Final = frozenset("\n\t")
_NAMES: Final = re.findall(
    r"\w+",
    "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI "
    "DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US",
)
_DELETE: Final = 0x7F
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


def visible(text: str) -> str:
    """The text with control characters by name, and every other invisible one as its code point."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if _shows(character) else _named(character) for character in text)


def _shows(character: str) -> bool:
    return character.isprintable() or character in _KEPT or unicodedata.category(character) not in _INVISIBLE


def _named(character: str) -> str:
    code = ord(character)
    name = _NAMES[code] if code < len(_NAMES) else "DEL" if code == _DELETE else f"U+{code:04X}"
    return f"\u27e8{name}\u27e9"


def finalize(value: Any) -> Any:
    """What Jinja does to every expression before escaping it. Markup is made by us alone, of text that was escaped."""
    if isinstance(value, Markup):
        return value
    return "" if value is None else visible(str(value))


def short(value: Any, most: int = SHORT) -> str:
    """The beginning of a text on one line; says how much more there is."""
    text = " ".join(str("" if value is None else value).split())
    return text if len(text) <= most else f"{text[:most]} \u2026 ({len(text) - most:,} more characters)"


def digest(value: Any) -> Markup:
    """The beginning of a hash or id, with all of it beside it."""
    text = visible(str(value or ""))
    shown = text if len(text) <= DIGEST else f"{text[:DIGEST]}\u2026"
    return Markup('<span class="id" title="{}">{}</span>').format(text, shown or "\u2013")
