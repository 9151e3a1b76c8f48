"""Any Python value as JSON data. Reads built-in types by their own methods; runs no code of the value unguarded."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import islice
from pathlib import PosixPath, PurePath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any, Final
from uuid import UUID

from tachograph.producers.redaction.flat import CHECKED_DIGITS, NODE_BYTES
from tachograph.producers.redaction.results import DropReason, dropped
from tachograph.producers.redaction.rules import KEY_RULE, PATH_RULE
from tachograph.producers.redaction.safe import plain_text, safe_text

__all__ = ["MAX_DEPTH", "TooLargeError", "Walk", "mapped"]

MAX_DEPTH: Final = 64
"""Containers within containers; half of what canonical JSON takes, so that a value fits into a record's own nesting."""

_MAX_SAFE_INTEGER: Final = 2**53 - 1
_MAX_DIGITS: Final = 1000  # of an integer that is written out as text
_CLOCK_EVERY: Final = 512  # nodes between two looks at the clock
_MAX_FOREIGN: Final = 10_000  # members that are read of a mapping not of our own making: it may have no end
_PATHS: Final = (PosixPath, WindowsPath, PurePosixPath, PureWindowsPath)
_SEQUENCES: Final[tuple[Any, ...]] = (list, tuple, set, frozenset)
_PRINTED: Final = (datetime, date, time, timedelta, Decimal, UUID)
_name_of: Final = type.__dict__["__name__"].__get__


class TooLargeError(Exception):
    """The value has more content than the budget allows."""


class Walk:
    """One walk over one value."""

    def __init__(
        self,
        max_bytes: int,
        check: Callable[[], None],
        is_secret_name: Callable[[str], bool] | None = None,
        is_secret_path: Callable[[str], bool] | None = None,
        path_keys: frozenset[str] = frozenset(),
    ) -> None:
        self._room = max_bytes
        self._check = check
        self._is_secret_name = is_secret_name
        self._is_secret_path = is_secret_path
        self._path_keys = path_keys
        self._open: set[int] = set()
        self._nodes = 0
        self.texts: list[str] = []
        """Every text that is in the result, keys included: what is left to redact."""
        self.counts: dict[str, int] = {}
        """Members dropped by their name or by the file they are about."""

    def value(self, obj: Any, depth: int = 0) -> Any:  # noqa: PLR0911 - one way out for each kind of value
        """Return the value as JSON data."""
        self._spend(NODE_BYTES)
        kind = type(obj)
        if kind is str or issubclass(kind, str):
            return self._text(plain_text(obj))
        if obj is None or kind is bool:
            return obj
        if issubclass(kind, (int, float)):
            return self._number(obj, kind)
        if issubclass(kind, (bytes, bytearray)):
            return self._bytes(bytes(memoryview(obj)))
        if depth >= MAX_DEPTH:
            return "[DEPTH]"
        if id(obj) in self._open:
            return "[CYCLE]"
        self._open.add(id(obj))
        try:
            return self._container(obj, kind, depth + 1)
        finally:
            self._open.discard(id(obj))

    def _container(self, obj: Any, kind: type, depth: int) -> Any:
        if issubclass(kind, dict):
            return self._object(dict.items(obj), depth)
        for sequence in _SEQUENCES:
            if issubclass(kind, sequence):
                return [self.value(item, depth) for item in sequence.__iter__(obj)]
        try:
            known = self._foreign(obj, kind)
        except Exception:  # noqa: BLE001 - the value's own code may raise anything
            known = None
        # Outside of the guard: what the value gave is walked like any other, and our own limits pass.
        if isinstance(known, dict):
            return self._object(known.items(), depth)
        return self._text(safe_text(known if known is not None else f"[OBJECT:{_name_of(kind)}]"))

    def _foreign(self, obj: Any, kind: type[Any]) -> str | dict[Any, Any] | None:
        """Read a value that JSON does not know: as text, as members, or not at all."""
        known: str | dict[Any, Any] | None = None
        if kind in _PRINTED or issubclass(kind, PurePath):
            known = plain_text(str(obj))
        elif issubclass(kind, Enum):
            known = {"enum": _name_of(kind), "value": obj._value_}
        elif issubclass(kind, BaseException):
            known = {"type": _name_of(kind), "args": obj.args}
        elif dataclasses.is_dataclass(kind):
            known = {item.name: getattr(obj, item.name) for item in dataclasses.fields(kind)}
        elif issubclass(kind, Mapping):
            known = {key: obj[key] for key in islice(iter(obj), _MAX_FOREIGN)}
        elif hasattr(kind, "__pydantic_validator__"):
            known = dict(islice(iter(obj), _MAX_FOREIGN))
        return known

    def _object(self, items: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        entries = [(self._key(key), value) for key, value in items]
        about_secret_file = self._is_secret_path is not None and any(
            key in self._path_keys and self._is_secret_path(_path_text(value)) for key, value in entries
        )
        for key, value in entries:
            name = _unique(key, members)
            if value is not None and self._is_secret_name is not None and self._is_secret_name(key):
                members[name] = self._dropped(KEY_RULE, f"[REDACTED:{KEY_RULE}]")
            elif about_secret_file and key not in self._path_keys and value is not None and type(value) is not bool:
                members[name] = self._dropped(PATH_RULE, dropped(DropReason.PATH))
            else:
                members[name] = self.value(value, depth)
        return members

    def _dropped(self, rule: str, marker: str) -> str:
        self.counts[rule] = self.counts.get(rule, 0) + 1
        return marker

    def _key(self, key: Any) -> str:
        kind = type(key)
        if issubclass(kind, str):
            return self._text(plain_text(key))
        if key is None or kind in (bool, int, float):
            return self._text(repr(key) if kind is not int or abs(key) <= _MAX_SAFE_INTEGER else "[INTEGER]")
        if issubclass(kind, bytes):
            return self._bytes(bytes(memoryview(key)))
        return self._text(f"[OBJECT:{_name_of(kind)}]")

    def _text(self, text: str) -> str:
        text = safe_text(text)
        self._spend(len(text) if text.isascii() else len(text.encode()))
        self.texts.append(text)
        return text

    def _bytes(self, data: bytes) -> str:
        self._spend(len(data))
        try:
            return self._text(data.decode())
        except UnicodeDecodeError:
            return f"[BYTES: {len(data)}]"

    def _number(self, obj: Any, kind: type[Any]) -> float | str:
        if issubclass(kind, float):
            inexact = float.__float__(obj)
            return inexact if math.isfinite(inexact) else repr(inexact)
        number = int.__int__(obj)
        if -CHECKED_DIGITS < number < CHECKED_DIGITS:
            return number
        if number.bit_length() > _MAX_DIGITS * 3:
            return f"[INTEGER: {number.bit_length()} bits]"
        text = self._text(str(number))
        return number if -_MAX_SAFE_INTEGER <= number <= _MAX_SAFE_INTEGER else text

    def _spend(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise TooLargeError
        self._nodes += 1
        if self._nodes % _CLOCK_EVERY == 0:
            self._check()


def mapped(value: Any, redact: Callable[[str], str]) -> Any:
    """Return JSON data with every text replaced by what `redact` gives for it; keys that fall together are numbered."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        members: dict[str, Any] = {}
        for key, member in value.items():
            members[_unique(redact(key), members)] = mapped(member, redact)
        return members
    if isinstance(value, list):
        return [mapped(item, redact) for item in value]
    if type(value) is int and not -CHECKED_DIGITS < value < CHECKED_DIGITS:
        text = str(value)
        redacted = redact(text)
        return value if redacted == text else redacted
    return value


def _path_text(value: Any) -> str:
    kind = type(value)
    if issubclass(kind, str):
        return plain_text(value)
    return str(value) if kind in _PATHS else ""


def _unique(key: str, members: dict[str, Any]) -> str:
    if key not in members:
        return key
    number = 2
    while f"{key}#{number}" in members:
        number += 1
    return f"{key}#{number}"
