"""Rows as files: JSON lines, or Parquet that ClickHouse writes itself. Nothing is held in memory but a page.

A page is a range of places, so that no question exceeds what the reading account may ask for at once. JSON lines of all
pages follow one another. A Parquet file has one page; a table with more of them becomes several files, which readers
open together (``decision_events-*.parquet``).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Final

from tachograph.console.database import Reader
from tachograph.console.export.places import LOOKED_UP, Place, pages, places, reached, within
from tachograph.console.export.selection import Selection, has_runs
from tachograph.schemas import tables
from tachograph.schemas.errors import ConfigError, TachographError
from tachograph.schemas.tables.content import CONTENT_COLUMNS
from tachograph.schemas.tables.kinds import Table

PARQUET_ROWS: Final = 100_000
"""Most rows in one file: a page that a laptop's ClickHouse sorts in memory."""

JSON_ROWS: Final = 20_000

_MAGIC: Final = b"PAR1"
_SETTINGS: Final = {
    "output_format_json_quote_64bit_integers": 0,
    "output_format_json_quote_denormals": 0,
    "output_format_json_named_tuples_as_objects": 1,
    "output_format_json_validate_utf8": 1,
    "date_time_output_format": "iso",
    "output_format_parquet_string_as_string": 1,
    "output_format_parquet_compression_method": "zstd",
}


class FileFormat(StrEnum):
    """How rows are written."""

    JSONL = "jsonl"
    PARQUET = "parquet"


class NotExportedError(TachographError):
    """The rows could not be written."""


@dataclass(frozen=True, slots=True)
class Written:
    """One file, or one table's part of a stream."""

    table: str
    rows: int
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class FileExport:
    """Rows of a selection, table by table."""

    database: Reader
    selection: Selection
    content: bool = True
    """Columns that hold captured content are there, too."""

    def json_lines(self, wanted: Sequence[Table], out: BinaryIO) -> Iterator[Written]:
        """Write every row as an object on a line: its table, and the row."""
        for table in wanted:
            rows, begin = 0, b'{"table":"%s","row":' % table.name.encode()
            for page in self._pages(table, JSON_ROWS):
                for line in self._lines(table, page):
                    if not (line.startswith(b"{") and line.endswith(b"}")):
                        raise NotExportedError(f"ClickHouse stopped in the middle of {table.name}: run this again")
                    out.write(begin + line + b"}\n")
                    rows += 1
            yield Written(table.name, rows)

    def parquet(self, wanted: Sequence[Table], folder: Path) -> Iterator[Written]:
        """Write a file for each table with rows; for each part of it, where there are many."""
        _made(folder)
        for table in wanted:
            found = enumerate(self._pages(table, PARQUET_ROWS), 1)
            for number, page in found:
                several = number > 1 or len(page) == PARQUET_ROWS
                path = folder / (f"{table.name}-{number:04}.parquet" if several else f"{table.name}.parquet")
                yield Written(table.name, self.parquet_file(table, page, path), path)

    def one_parquet(self, table: Table, path: Path) -> Written:
        """Write the one file that was asked for, rows or none."""
        found = list(self._pages(table, PARQUET_ROWS)) or [[]]
        if len(found) > 1:
            raise ConfigError(
                f"{table.name} has more than {PARQUET_ROWS:,} such rows: give -o a folder, and it becomes several files"
            )
        return Written(table.name, self.parquet_file(table, found[0], path), path)

    def parquet_file(self, table: Table, page: Sequence[Place], path: Path) -> int:
        """Write a page as a file, which is there whole or not at all."""
        partial = path.with_name(f".{path.name}.partial")
        try:
            with partial.open("wb") as file:
                for chunk in self.database.stream(*self._asked(table, page, "Parquet"), settings=_SETTINGS):
                    file.write(chunk)
            with partial.open("rb") as file:
                file.seek(max(partial.stat().st_size - len(_MAGIC), 0))
                if file.read() != _MAGIC:
                    raise NotExportedError(f"ClickHouse stopped in the middle of {table.name}: run this again")
            partial.replace(path)
        except OSError as error:
            raise NotExportedError(
                f"{path} could not be written ({error.strerror}): choose another place with -o"
            ) from None
        finally:
            partial.unlink(missing_ok=True)
        return len(page)

    def _lines(self, table: Table, page: Sequence[Place]) -> Iterator[bytes]:
        rest = b""
        for chunk in self.database.stream(*self._asked(table, page, "JSONEachRow"), settings=_SETTINGS):
            *whole, rest = (rest + chunk).split(b"\n")
            yield from whole
        if rest:
            yield rest

    def _asked(self, table: Table, page: Sequence[Place], form: str) -> tuple[str, dict[str, Any], str]:
        where, parameters = self.selection.where(table)
        here = within(page) if page else "0"
        chosen = ", ".join(columns(table, content=self.content))
        return (
            f"SELECT {chosen} FROM {table.name} WHERE {where} AND {here} ORDER BY _partition, _offset",  # noqa: S608 - our own names
            parameters,
            form,
        )

    def _pages(self, table: Table, size: int) -> Iterator[Sequence[Place]]:
        where, parameters = self.selection.where(table)
        position: dict[int, int] = {}
        while True:
            found = places(self.database, table.name, where, parameters, position, runs=False)
            for page in pages(found, size):
                yield page
                position = reached(position, page)
            if len(found) < LOOKED_UP:
                return


def columns(table: Table, *, content: bool) -> list[str]:
    """Columns of a table that are written, in its order."""
    left_out = frozenset[str]() if content else CONTENT_COLUMNS.get(table.name, frozenset())
    return [column.name for column in table.columns if column.name not in left_out]


def wanted_tables(names: Sequence[str], *, of_a_run: bool) -> list[Table]:
    """The tables that are meant: those named, or all that can be. Raises ConfigError for a name that is none."""
    possible = [table for table in tables.TABLES if has_runs(table) or not of_a_run]
    if not names:
        return possible
    known = {table.name: table for table in possible}
    unknown = [name for name in names if name not in known]
    if unknown:
        of = "tables with rows of runs" if of_a_run and unknown[0] in tables.BY_NAME else "tables"
        raise ConfigError(f"--table takes one of the {of}: {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)]


def _made(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotExportedError(f"{folder} could not be made ({error.strerror}): choose another place with -o") from None
