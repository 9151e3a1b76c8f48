"""How values become text.

What an agent wrote may hold anything: what would be invisible, or would drive a terminal or the direction of writing,
is made visible here, for every expression of every template.
"""

import re
import unicodedata
from datetime import UTC, datetime
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
_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


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


def ago(moment: datetime | None, now: datetime) -> str:
    """How long before now, in one unit."""
    if moment is None:
        return "\u2013"
    seconds = (now - moment).total_seconds()
    if seconds < 0:
        return f"in {_in_one_unit(-seconds)}" if seconds < -1 else "now"
    return "now" if seconds < 1 else f"{_in_one_unit(seconds)} ago"


def _in_one_unit(seconds: float) -> str:
    size, unit = next((found for found in _UNITS if seconds >= found[0]), _UNITS[-1])
    return f"{int(seconds // size)} {unit}"


def exact(moment: datetime | None) -> str:
    """A moment to the millisecond, in UTC."""
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"


def duration(milliseconds: float | None) -> str:
    """A length of time with the unit that fits."""
    if milliseconds is None:
        return "\u2013"
    seconds = milliseconds / 1000
    if seconds < 1:
        return f"{milliseconds:.0f} ms"
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:  # noqa: PLR2004 - an hour
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def number(value: float | None) -> str:
    """A number with thousands apart; a dash if there is none."""
    if value is None:
        return "\u2013"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}".rstrip("0").rstrip(".")


def size(count: int | None) -> str:
    """Bytes with the unit that fits."""
    if count is None:
        return "\u2013"
    for unit, bytes_each in (("MB", 1 << 20), ("KB", 1 << 10)):
        if count >= bytes_each:
            return f"{count / bytes_each:.1f} {unit}"
    return f"{count} B"


def percent(share: float | None, digits: int = 1) -> str:
    """A share of one."""
    return "\u2013" if share is None else f"{share * 100:,.{digits}f}\u202f%"
