"""Rows of ClickHouse as plain data: names and values, times in microseconds since 1970, as the codec has them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tachograph.console.database import Reader
from tachograph.schemas.proofs.keys import micros

Row = dict[str, Any]


def rows(database: Reader, sql: str, **parameters: Any) -> list[Row]:
    """Rows of a query."""
    names, found = database.table(sql, parameters)
    return [{name: plain(value) for name, value in zip(names, row, strict=True)} for row in found]


def plain(value: Any) -> Any:
    """A value of the driver's as the codec would give it."""
    if isinstance(value, datetime):
        return micros(value.astimezone(UTC))
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
