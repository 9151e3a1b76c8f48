"""The report on a terminal: the sections a person reads first, as tables that fit."""

from collections.abc import Iterator
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tachograph.console.report.page import Block, Facts, Grid, Page, Part
from tachograph.console.visible import clipped, visible, visible_line

SHORT: Final = ("request", "violations", "timeline", "faults", "completeness", "records", "cost")
"""Sections of the short form."""

_BLOCK_LIMIT: Final = 400
_CELL_LIMIT: Final = 300
_STYLES: Final = {"ok": "green", "warn": "yellow", "fail": "red", "info": ""}
_MARKS: Final = {"ok": "✓", "warn": "!", "fail": "✗", "info": "·"}


def print_page(console: Console, page: Page) -> None:
    """The page, as wide as the terminal. Nothing in it is markup or drives the terminal."""
    console.print(
        Panel(
            Text(_line(page.headline), style=_STYLES[page.tone]),
            title=Text(_line(page.title), style="bold"),
            title_align="left",
            expand=False,
        )
    )
    for section in page.sections:
        console.print()
        console.print(Text(section.title, style="bold"))
        console.print(Group(*(piece for part in section.parts for piece in _part(part))))


def _part(part: Part) -> Iterator[RenderableType]:
    if isinstance(part, Facts):
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in part.pairs:
            table.add_row(Text(name), Text(_line(value)))
        yield table
    elif isinstance(part, Grid):
        yield _grid(part)
    elif isinstance(part, Block):
        yield Text(f"{_line(part.title)}:", style="dim")
        yield Text(visible(clipped(part.text, _BLOCK_LIMIT)))
    else:
        yield Text(part.text, style="dim")


def _grid(part: Grid) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    if part.tones:
        table.add_column("", no_wrap=True)
    for column in part.columns:
        table.add_column(column, overflow="fold")
    for place, row in enumerate(part.rows):
        tone = part.tones[place] if part.tones else "info"
        mark = [Text(_MARKS[tone], style=_STYLES[tone])] if part.tones else []
        table.add_row(*mark, *(Text(_line(cell)) for cell in row))
    return table


def _line(text: str) -> str:
    return visible_line(clipped(text, _CELL_LIMIT))
