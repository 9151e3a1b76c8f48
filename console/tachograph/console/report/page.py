"""A report as a page of sections, before anybody decides how a section looks. Pure.

Cells and blocks hold what agents wrote, as it is. Each renderer makes it harmless in its own way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tachograph.console.report.model import Tone

NOTHING = "-"


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tones: tuple[Tone, ...] = ()
    """Of the rows; empty if they have none."""
    spans: tuple[tuple[float, float] | None, ...] = ()
    """Where each row begins and ends within the whole, as shares of it, for those who draw bars; empty if nowhere."""


@dataclass(frozen=True, slots=True)
class Block:
    """A text as it was captured, folded away until somebody wants it."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words of ours."""

    text: str


Part = Facts | Grid | Block | Sentence


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a name."""

    name: str
    """Word for the address and for choosing sections."""
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """The whole report."""

    title: str
    tone: Tone
    headline: str
    sections: tuple[Section, ...] = field(default=())

    def only(self, *names: str) -> "Page":
        """The page with some of its sections, in the order of the page."""
        return Page(self.title, self.tone, self.headline, tuple(s for s in self.sections if s.name in names))


def grid(columns: Sequence[str], rows: Sequence[Sequence[object]], tones: Sequence[Tone] = ()) -> Grid:
    """A table of any values."""
    return Grid(tuple(columns), tuple(tuple(shown(cell) for cell in row) for row in rows), tuple(tones))


def shown(value: object) -> str:
    """A value as a cell."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value) or NOTHING
    return str(value)
