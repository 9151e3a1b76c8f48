"""What metadata of decisions and quality signals may hold: one law, applied by two layers.

`check_metadata` is the model's layer and refuses; `clean_metadata` is the SDK's layer, drops or cuts, and says so. They
judge by the same code: what one lists, the other refuses. Neither repeats a key or a value of the agent; a blocked key
is named as the block list spells it, anything else by its position.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

__all__ = [
    "BLOCKED_METADATA_KEYS",
    "METADATA_INTEGER_LIMIT",
    "METADATA_STRING_LIMIT",
    "Metadata",
    "Primitive",
    "PrivacyError",
    "Refusal",
    "RefusalKind",
    "blocked_name",
    "check_metadata",
    "clean_metadata",
    "fold_key",
]

Primitive: TypeAlias = str | int | float | bool
Metadata: TypeAlias = dict[str, Primitive]

BLOCKED_METADATA_KEYS: Final = frozenset(
    {
        "chain_of_thought",
        "content",
        "explanation",
        "input",
        "message",
        "output",
        "prompt",
        "rationale",
        "reasoning",
        "response",
        "text",
        "thought",
    }
)
"""Keys under which agents put what was said or thought. Compared after `fold_key`."""

METADATA_STRING_LIMIT: Final = 100
"""Characters (code points) a string value may have, and a key: a longer key would be content by another door."""

METADATA_INTEGER_LIMIT: Final = 2**63 - 1
"""Largest magnitude of an integer: what an Avro long carries."""

# All that Unicode calls white space (what `str.isspace` accepts), and the five characters that are as wide as nothing:
# zero width space, non-joiner and joiner, word joiner, byte order mark.
_BLANK: Final = re.compile("[\\s\u200b\u200c\u200d\u2060\ufeff]+")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")

# `chain of thought` loses its blanks in folding, so the list is known without its underscores too.
_FOLDED: Final = {spelling: name for name in BLOCKED_METADATA_KEYS for spelling in (name, name.replace("_", ""))}

_SHOWN: Final = 8  # refusals an error message spells out; metadata of a confused agent can have thousands


class RefusalKind(StrEnum):
    """What was wrong with an entry. The codes are stable."""

    BLOCKED_KEY = "blocked_key"
    """The key is on the block list."""
    KEY_TYPE = "key_type"
    """The key is not a string."""
    KEY_TOO_LONG = "key_too_long"
    """The key has more than METADATA_STRING_LIMIT characters."""
    NOT_PRIMITIVE = "not_primitive"
    """The value is none of str, int, float, bool: a nested object, a list, null, an object of the agent's own."""
    TOO_LONG = "too_long"
    """The string has more than METADATA_STRING_LIMIT characters. The SDK's layer cuts it and keeps the rest."""
    NOT_FINITE = "not_finite"
    """NaN or an infinity."""
    INTEGER_RANGE = "integer_range"
    """An integer beyond METADATA_INTEGER_LIMIT."""
    NOT_UNICODE = "not_unicode"
    """A key or value with half a surrogate pair, which no encoder takes."""
    NOT_A_MAPPING = "not_a_mapping"
    """The metadata as a whole could not be read as a mapping."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One entry that metadata may not hold as it came."""

    kind: RefusalKind
    position: int | None
    """Place of the entry in the mapping's order, from 0; None if it is the mapping itself."""
    blocked_key: str | None = None
    """The block list's name of the key, for BLOCKED_KEY only."""

    @property
    def label(self) -> str:
        """What may be shown: the block list's own name, else the position."""
        if self.blocked_key is not None:
            return self.blocked_key
        return "metadata" if self.position is None else f"#{self.position}"


class PrivacyError(ValueError):
    """Metadata that must not be stored. Drop the record or clean the metadata; trying again gives the same answer."""

    def __init__(self, refusals: tuple[Refusal, ...]) -> None:
        super().__init__(refusals)
        self.refusals = refusals

    @property
    def keys(self) -> tuple[str, ...]:
        """Labels of what was refused: names of the block list and positions, in the order of the entries."""
        return tuple(refusal.label for refusal in self.refusals)

    def __str__(self) -> str:
        shown = ", ".join(f"{refusal.label} ({refusal.kind.value})" for refusal in self.refusals[:_SHOWN])
        more = len(self.refusals) - _SHOWN
        return f"metadata refused: {shown}{f' and {more} more' if more > 0 else ''}"


def fold_key(key: str) -> str:
    """Return the key as the block list compares it: case folded, without white space or zero-width characters."""
    return _BLANK.sub("", key.casefold())


def blocked_name(key: str) -> str | None:
    """Return the block list's name for the key, or None if the key is allowed."""
    return _FOLDED.get(fold_key(key))


def check_metadata(metadata: Mapping[str, Primitive]) -> None:
    """Raise PrivacyError unless every entry may be stored as it is."""
    _, refusals = clean_metadata(metadata)
    if refusals:
        raise PrivacyError(tuple(refusals))


def clean_metadata(metadata: object) -> tuple[Metadata, list[Refusal]]:
    """Return what may be stored, and what was dropped or cut. Raises for no input, whatever an agent passes.

    Kept values are plain built-ins: an enum or another subclass is stored as the primitive it is made of.
    """
    entries = _entries(metadata)
    if entries is None:
        return {}, [Refusal(RefusalKind.NOT_A_MAPPING, None)]
    kept: Metadata = {}
    refusals: list[Refusal] = []
    for position, (key, value) in enumerate(entries):
        name, kind = _plain_key(key)
        if name is not None and kind is None:
            blocked = blocked_name(name)
            if blocked is not None:
                refusals.append(Refusal(RefusalKind.BLOCKED_KEY, position, blocked))
                continue
            plain, kind = _plain_value(value)
            if plain is not None:
                kept[name] = plain
        if kind is not None:
            refusals.append(Refusal(kind, position))
    return kept, refusals


def _entries(metadata: Any) -> list[tuple[Any, Any]] | None:
    # By the real type and the built-in's own method: `isinstance` and overridden methods run code of the agent.
    if issubclass(type(metadata), dict):
        return list(dict.items(metadata))
    try:
        if isinstance(metadata, Mapping):
            return [(key, value) for key, value in metadata.items()]  # unpacked, so that a bad pair fails here
    except Exception:  # noqa: BLE001  # a foreign mapping may raise anything, and recording never breaks the agent
        return None
    return None


def _plain_key(key: Any) -> tuple[str | None, RefusalKind | None]:
    if not issubclass(type(key), str):
        return None, RefusalKind.KEY_TYPE
    text = str.__str__(key)
    if len(text) > METADATA_STRING_LIMIT:
        return None, RefusalKind.KEY_TOO_LONG
    if _SURROGATE.search(text):
        return None, RefusalKind.NOT_UNICODE
    return text, None


def _plain_value(value: Any) -> tuple[Primitive | None, RefusalKind | None]:
    """Return the value to keep, None to drop it, and what was wrong with it."""
    kind = type(value)
    if kind is bool:
        return bool(value), None
    if issubclass(kind, str):
        return _plain_text(str.__str__(value))
    if issubclass(kind, int):
        integer = int.__int__(value)
        within = -METADATA_INTEGER_LIMIT <= integer <= METADATA_INTEGER_LIMIT
        return (integer, None) if within else (None, RefusalKind.INTEGER_RANGE)
    if issubclass(kind, float):
        number = float.__float__(value)
        return (number, None) if math.isfinite(number) else (None, RefusalKind.NOT_FINITE)
    return None, RefusalKind.NOT_PRIMITIVE


def _plain_text(text: str) -> tuple[str | None, RefusalKind | None]:
    head = text[:METADATA_STRING_LIMIT]
    if _SURROGATE.search(head):
        return None, RefusalKind.NOT_UNICODE
    return head, RefusalKind.TOO_LONG if len(text) > METADATA_STRING_LIMIT else None
