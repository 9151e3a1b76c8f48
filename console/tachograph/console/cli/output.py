"""How the command line talks: data on stdout, everything else on stderr, colours only on a terminal."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console, ConsoleDimensions
from rich.table import Table
from rich.text import Text

from tachograph.console.tones import tone
from tachograph.console.visible import clipped, visible, visible_json

PIPE_WIDTH = 180
"""Columns where there is no terminal to ask: wide enough that a table keeps its rows."""

NARROWEST = 13
"""Room that a column of a table needs where its cells are longer than that: less would tear words into pieces."""

GAP = 2
"""Room between two columns."""

_STYLES = {"good": "green", "warn": "yellow", "bad": "red"}
"""Colours of words such as ``failed``, on a terminal that shows colours. The word says it, too."""


class _Output(Console):
    """As wide as COLUMNS says, or the terminal; a pipe has room. Asked each time, for terminals change."""

    @property
    def size(self) -> ConsoleDimensions:
        columns, known = os.environ.get("COLUMNS", ""), super().size
        if columns.isdigit():
            return ConsoleDimensions(int(columns), known.height)
        return known if sys.stdout.isatty() else ConsoleDimensions(PIPE_WIDTH, known.height)

    @size.setter
    def size(self, new: tuple[int, int]) -> None:
        self._width, self._height = new


OUT: Final = _Output(highlight=False)
"""Data. Pipe it."""

ERR = Console(stderr=True, highlight=False)
"""Progress, status and errors."""

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]


def program() -> str:
    """How to call this program from here: its name, or its path where the shell does not find it by name."""
    called = Path(sys.argv[0])
    found = shutil.which("tachograph")
    if called.name != "tachograph" or (found and Path(found).resolve() == called.resolve()):
        return "tachograph"
    whole, here = called.resolve(), Path.cwd().resolve()
    if not whole.is_relative_to(here):
        return shlex.quote(str(whole))
    path = str(whole.relative_to(here))
    return shlex.quote(path if "/" in path else f"./{path}")


def json_text(value: Any) -> str:
    """One JSON document. Unprintable characters in its strings are escapes, so that it can be read on a terminal."""
    return visible_json(json.dumps(value, indent=2, default=_plain, ensure_ascii=False)) + "\n"


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return str(value)


def print_json(value: Any) -> None:
    """One JSON document on stdout, keys in the order given."""
    sys.stdout.write(json_text(value))


def many(count: int, noun: str) -> str:
    """A number of things."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None = None) -> None:
    """A table that fits the terminal. Cells and names may be what an agent wrote, so markup in them is not markup.

    Where the terminal is too narrow for the columns, each row is a small list of its own.
    """
    names = [Text(printable(column)) for column in columns]
    shown = [[_cell(cell) for cell in row] for row in rows]
    if not _fits(names, shown):
        _print_lists(names, shown, title)
        return
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    numeric = [all(isinstance(row[place], int | float) for row in rows) and bool(rows) for place in range(len(columns))]
    for name, is_numeric in zip(names, numeric, strict=True):
        table.add_column(name, justify="right" if is_numeric else "left", overflow="fold")
    for cells in shown:
        table.add_row(*cells)
    OUT.print(table)


def _cell(value: object) -> Text:
    return Text(printable(value), style=_STYLES.get(tone(value), "") if isinstance(value, str) else "")


def _fits(names: Sequence[Text], rows: Sequence[Sequence[Text]]) -> bool:
    widest = [max(cell.cell_len for cell in column) for column in zip(names, *rows, strict=True)]
    needed = sum(min(each, NARROWEST) for each in widest) + GAP * (len(names) - 1)
    return bool(needed <= OUT.width)


def _print_lists(names: Sequence[Text], rows: Sequence[Sequence[Text]], title: str | None) -> None:
    if title is not None:
        OUT.print(Text(title, style="italic"))
    for place, row in enumerate(rows):
        if place:
            OUT.print()
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for name, cell in zip(names, row, strict=True):
            table.add_row(name, cell)
        OUT.print(table)


def printable(cell: object) -> str:
    """Text of a cell without what could drive a terminal: control characters and direction overrides."""
    if cell is None:
        return "-"
    if isinstance(cell, datetime):
        cell = _plain(cell)
    return visible(clipped(f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)))


def note(sentence: str) -> None:
    """A line for the person, not for the pipe."""
    ERR.print(Text(visible(sentence)), soft_wrap=True)
