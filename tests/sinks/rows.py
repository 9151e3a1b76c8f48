"""Rows of every table, made from the contract: samples for the real servers, any row at all for the pure parts."""

import io
from collections.abc import Sequence
from random import Random
from typing import Any, Final

import fastavro

from tachograph.schemas.wire import Codec, load_catalogue

CODEC: Final = Codec()
NOW_US: Final = 1_780_000_000_000_000
"""Some moment in 2026, in microseconds."""


def sample_row(table: str, number: int, **changes: Any) -> dict[str, Any]:
    """A row whose every value is set and differs from row to row."""
    row: dict[str, Any] = _sample(load_catalogue().latest(f"rows.{table}").plain, f"{table}-{number}", number)
    for name in ("occurred_at", "received_at"):
        if name in row:
            row[name] = NOW_US + number
    return row | changes


def encoded(table: str, row: dict[str, Any]) -> bytes:
    """The row as the worker writes it."""
    return CODEC.encode(f"rows.{table}", row)


def avro_file(table: str, rows: Sequence[dict[str, Any]]) -> bytes:
    """The rows as a file that ClickHouse takes, whoever made them."""
    file = io.BytesIO()
    fastavro.writer(file, fastavro.parse_schema(load_catalogue().latest(f"rows.{table}").plain), rows)
    return file.getvalue()


def _sample(node: Any, text: str, number: int) -> Any:
    if isinstance(node, list):
        return _sample(next(branch for branch in node if branch != "null"), text, number)
    kind = node["type"] if isinstance(node, dict) else node
    simple: dict[str, Any] = {
        "string": text,
        "long": number + 1,
        "double": 1 / (number + 2),
        "boolean": number % 2 == 0,
    }
    if kind == "record":
        return {field["name"]: _sample(field["type"], f"{text}.{field['name']}", number) for field in node["fields"]}
    if kind == "array":
        return [_sample(node["items"], f"{text}[{index}]", number + index) for index in range(2)]
    if kind == "map":
        return {"colour": _sample(node["values"], text, number), "größe": _sample(node["values"], text, number)}
    return simple[kind] if isinstance(kind, str) else _sample(kind, text, number)


_TEXTS: Final = ("", "a", "größe", "\x00", "日本", "😀" * 9, "x" * 200)
_LONGS: Final = (0, 1, -1, 63, -64, 64, 2**31, -(2**63), 2**63 - 1)
_DOUBLES: Final = (0.0, -0.5, 1e300, float("inf"))


def random_row(table: str, chance: Random) -> dict[str, Any]:
    """Any row of the table. Drawn from a seed: field by field, hypothesis would take seconds for the wide tables."""
    row: dict[str, Any] = _random(load_catalogue().latest(f"rows.{table}").schema, chance)
    return row


def _random(node: Any, chance: Random) -> Any:
    if isinstance(node, list):
        return _random(chance.choice(node), chance)
    kind = node["type"] if isinstance(node, dict) else node
    if isinstance(node, dict) and "logicalType" in node:
        return NOW_US + chance.choice(_LONGS[:7])
    simple: dict[str, tuple[Any, ...]] = {
        "string": _TEXTS,
        "long": _LONGS,
        "double": _DOUBLES,
        "boolean": (True, False),
        "null": (None,),
    }
    if kind == "record":
        return {field["name"]: _random(field["type"], chance) for field in node["fields"]}
    if kind == "array":
        return [_random(node["items"], chance) for _ in range(chance.randrange(3))]
    if kind == "map":
        return {chance.choice(_TEXTS): _random(node["values"], chance) for _ in range(chance.randrange(3))}
    return chance.choice(simple[kind]) if isinstance(kind, str) else _random(kind, chance)
