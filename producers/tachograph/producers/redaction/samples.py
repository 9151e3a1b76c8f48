"""The syntax of samples in rule files, so that no file holds anything that looks like a live credential.

``{{w:36}}`` stands for 36 characters of class ``w``, always the same ones for the same sample. ``{{}}`` stands for
nothing and breaks a word in two.
"""

import hashlib
import re
from typing import Final

from tachograph.producers.redaction.errors import RuleError

__all__ = ["CLASSES", "expand"]

_LOWER: Final = "abcdefghijklmnopqrstuvwxyz"
_DIGITS: Final = "0123456789"

CLASSES: Final = {
    "a": _LOWER,
    "A": _LOWER.upper(),
    "d": _DIGITS,
    "x": _DIGITS + "abcdef",
    "X": _DIGITS + "ABCDEF",
    "w": _LOWER + _DIGITS,
    "u": _LOWER.upper() + "234567",
    "W": _LOWER + _LOWER.upper() + _DIGITS,
    "b": _LOWER + _LOWER.upper() + _DIGITS + "-_",
    "B": _LOWER + _LOWER.upper() + _DIGITS + "+/",
}
"""Characters of each class: letters, capitals, digits, hex, HEX, letters and digits, base32, alphanumeric, base64url,
base64."""

_PLACEHOLDER: Final = re.compile(r"\{\{(?:(\w):(\d{1,4}))?\}\}")


def expand(sample: str) -> str:
    """Return the sample with its placeholders filled in."""

    def fill(match: re.Match[str]) -> str:
        if match[1] is None:
            return ""
        if match[1] not in CLASSES:
            raise RuleError(f"samples know the classes {', '.join(CLASSES)}, and not {match[1]!r}")
        alphabet = CLASSES[match[1]]
        stream = hashlib.shake_256(f"{sample}@{match.start()}".encode()).digest(int(match[2]))
        return "".join(alphabet[byte % len(alphabet)] for byte in stream)

    return _PLACEHOLDER.sub(fill, sample)
