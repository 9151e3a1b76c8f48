"""Rows of every table, made from the contract: samples for the real servers, strategies for the pure parts."""

from collections.abc import Callable
from typing import Any, Final

from hypothesis import strategies as st

from tachograph.schemas.tables import BY_NAME
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


def _sample(node: Any, text: str, number: int) -> Any:
    if isinstance(node, list):
        return _sample(next(branch for branch in node if branch != "null"), text, number)
    kind = node["type"] if isinstance(node, dict) else node
    simple: dict[str, Any] = {"string": text, "long": number + 1, "double": number + 0.5, "boolean": number % 2 == 0}
    if kind == "record":
        return {
            field["name"]: _sample(field["type"], f"{text}.{field['name']}", number) for field in node["fields"]
        }
    if kind == "array":
        return [_sample(node["items"], f"{text}[{index}]", number + index) for index in range(2)]
    if kind == "map":
        return {"colour": _sample(node["values"], text, number), "größe": _sample(node["values"], text, number)}
    return simple[kind] if isinstance(kind, str) else _sample(kind, text, number)


_LONG: Final = st.integers(-(2**63), 2**63 - 1)
_TEXT: Final = st.text(max_size=20)
_PRIMITIVES: Final[dict[str, st.SearchStrategy[Any]]] = {
    "string": _TEXT,
    "long": _LONG,
    "double": st.floats(allow_nan=False),
    "boolean": st.booleans(),
    "null": st.none(),
}


def rows_of(table: str) -> st.SearchStrategy[dict[str, Any]]:
    """Any row of the table."""
    assert table in BY_NAME
    return _strategy(load_catalogue().latest(f"rows.{table}").plain)


def _strategy(node: Any) -> st.SearchStrategy[Any]:
    if isinstance(node, list):
        return st.one_of([_strategy(branch) for branch in node])
    if isinstance(node, str):
        return _PRIMITIVES[node]
    compound: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
        "record": lambda: st.fixed_dictionaries(
            {field["name"]: _strategy(field["type"]) for field in node["fields"]}
        ),
        "array": lambda: st.lists(_strategy(node["items"]), max_size=2),
        "map": lambda: st.dictionaries(_TEXT, _strategy(node["values"]), max_size=2),
    }
    make = compound.get(node["type"])
    return make() if make else _strategy(node["type"])
