"""How the command line talks: data on stdout, everything else on stderr, colours only on a terminal."""

import json
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

PIPE_WIDTH = 180
"""Columns where there is no terminal to ask: wide enough that a table keeps its rows."""

OUT = Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH)
"""Data. Pipe it."""

ERR = Console(stderr=True, highlight=False)
"""Progress, status and errors."""

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]


def print_json(value: Any) -> None:
    """One JSON document on stdout, keys in the order given."""
    sys.stdout.write(json.dumps(value, indent=2, default=str, ensure_ascii=False) + "\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None = None) -> None:
    """A table that fits the terminal. Cells may hold what an agent wrote, so markup in them is not markup."""
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    numeric = [all(isinstance(row[place], int | float) for row in rows) and bool(rows) for place in range(len(columns))]
    for column, is_numeric in zip(columns, numeric, strict=True):
        table.add_column(column, justify="right" if is_numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(escape(printable(cell)) for cell in row))
    OUT.print(table)


def printable(cell: object) -> str:
    """Text of a cell without what could drive a terminal: control characters and direction overrides."""
    if cell is None:
        return "-"
    text = f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)
    return "".join(
        character if character.isprintable() or character == "\n" else f"\\x{ord(character):02x}" for character in text
    )


def note(sentence: str) -> None:
    """A line for the person, not for the pipe."""
    ERR.print(sentence)
