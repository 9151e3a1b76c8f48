"""Which columns are told, and under which names: one version of the conventions, with or without content."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

from tachograph.schemas import tables
from tachograph.schemas.semconv import SCHEMA_URL, Signal, semantic_conventions
from tachograph.schemas.tables.kinds import FLAG, MAYBE_FLOAT, MAYBE_NUMBER, NUMBER

Names = dict[str, str]
"""Attribute names by column of one table."""


class Vocabulary:
    """Names of one version of the semantic conventions."""

    def __init__(self, version: str = "", *, content: bool = False) -> None:
        """``version`` may be the beginning of one, or empty for the default. Raises ConfigError if there is none."""
        self._conventions = semantic_conventions()
        self.version: Final = self._conventions.version(version)
        self.content: Final = content
        """Whether captured content is told, too."""
        self._found: Final[dict[tuple[str, Signal, bool], Names]] = {}

    @property
    def schema_url(self) -> str:
        """Names the version to the collector."""
        return SCHEMA_URL.format(version=self.version)

    @cached_property
    def spans(self) -> Mapping[str, tuple[str, Callable[[str], Any]]]:
        """Name and reading of a span's text values, by ``table.column``."""
        names = self._conventions.names(Signal.SPAN, self.version)
        return {column: (name, _reading(column)) for column, name in names.items()}

    def logs(self, table: str) -> Names:
        """Names of the columns that a log tells of a row."""
        return self._of(table, Signal.LOG, content=False)

    def contents(self, table: str) -> Names:
        """Names of the columns that hold captured content, if that is told."""
        return self._of(table, Signal.LOG, content=True) if self.content else {}

    def resource(self, table: str) -> Names:
        """Names of the columns that say who acted."""
        return self._of(table, Signal.RESOURCE, content=False)

    def _of(self, table: str, signal: Signal, *, content: bool) -> Names:
        found = self._found.get((table, signal, content))
        if found is None:
            names = self._conventions.names(signal, self.version, content=content)
            start = f"{table}."
            found = {column.removeprefix(start): name for column, name in names.items() if column.startswith(start)}
            self._found[table, signal, content] = found
        return found


def _reading(column: str) -> Callable[[str], Any]:
    table, _, name = column.partition(".")
    known = tables.BY_NAME.get(table)
    kind = next((found.kind.clickhouse for found in known.columns if found.name == name), "") if known else ""
    return _READINGS.get(kind, str)


def _whole(value: str) -> int | str:
    try:
        return int(value)
    except ValueError:
        return value


def _number(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


def _flag(value: str) -> bool:
    return value in {"true", "1"}


_READINGS: Final[Mapping[str, Callable[[str], Any]]] = {
    NUMBER.clickhouse: _whole,
    MAYBE_NUMBER.clickhouse: _whole,
    MAYBE_FLOAT.clickhouse: _number,
    FLAG.clickhouse: _flag,
}
