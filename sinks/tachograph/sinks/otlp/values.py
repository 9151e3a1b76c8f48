"""Values as attributes that every collector takes, whatever an agent wrote. Pure, and never fails.

Text that is no UTF-8, and null characters, which PostgreSQL and others refuse, become U+FFFD. What is longer than the
limit is cut. Numbers that are none (NaN, infinity) are left out, integers over 64 bits are told as text.
"""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue

MAX_TEXT: Final = 4096
"""Characters of an attribute. Backends cut or refuse longer ones; none of ours that is no content comes near."""

MAX_CONTENT: Final = 1_048_576
"""Characters of captured content. A single text of a row has at most 64 KB, but a prompt has many."""

MAX_ITEMS: Final = 128
"""Of a list. OpenTelemetry's own limit for what a span may have of a kind."""

_INT64: Final = range(-(2**63), 2**63)


def text(value: str, limit: int = MAX_TEXT) -> str:
    """Text that is sound UTF-8, without null characters, and not too long."""
    cut = value if len(value) <= limit else value[: limit - 1] + "…"
    if cut.isascii():  # almost all are, and most of those have nothing to be replaced
        return cut.replace("\x00", "\ufffd") if "\x00" in cut else cut
    return cut.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")


def any_value(value: Any, limit: int = MAX_TEXT) -> AnyValue | None:
    """A value as OTLP has it; None if there is nothing to tell."""
    match value:
        case str():
            told = AnyValue(string_value=text(value, limit)) if value else None
        case bool():
            told = AnyValue(bool_value=value)
        case int() if value in _INT64:
            told = AnyValue(int_value=value)
        case float():
            told = AnyValue(double_value=value) if math.isfinite(value) else None
        case list() | tuple():
            items = [item for item in (any_value(item, limit) for item in value[:MAX_ITEMS]) if item is not None]
            told = AnyValue(array_value=ArrayValue(values=items)) if items else None
        case datetime():
            told = AnyValue(string_value=value.astimezone(UTC).isoformat().replace("+00:00", "Z"))
        case bytes():
            told = any_value(value.decode("utf-8", "replace"), limit)
        case None | Mapping():
            told = None
        case _:
            told = AnyValue(string_value=text(str(value), limit))
    return told


def attributes(pairs: Iterable[tuple[str, Any]], limit: int = MAX_TEXT) -> list[KeyValue]:
    """Attributes of what has a value, each name once: the first wins."""
    names: set[str] = set()
    found = []
    for name, value in pairs:
        told = any_value(value, limit) if name not in names else None
        if told is not None:
            names.add(name)
            found.append(KeyValue(key=name, value=told))
    return found
