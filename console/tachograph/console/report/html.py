"""The report as one HTML file that can be mailed: own style inside, no script, nothing that is fetched from elsewhere.

Every value goes through Jinja's autoescape, and unprintable characters are made visible before.
"""

import re
from functools import cache
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tachograph.console.report.page import NOTHING, Block, Facts, Grid, Page, Part
from tachograph.console.visible import clipped, visible, visible_line

BLOCK_LIMIT: Final = 20_000
"""Characters of a captured text that are shown; the JSON report has all of it."""

_NUMBER: Final = re.compile(r"[+-]?[\d,]+(\.\d+)?( s)?")
_LEAST: Final = 0.006
"""Width of the shortest bar: one that cannot be seen says less than one that is drawn too long."""


def html_of(page: Page, generated: str, schema_version: str) -> str:
    """The page as a file."""
    template = _environment().get_template("report.html.j2")
    return template.render(page=page, generated=generated, schema_version=schema_version)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tachograph.console.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["line"] = lambda text: visible_line(clipped(text))
    environment.filters["block"] = lambda text: visible(clipped(text, BLOCK_LIMIT))
    environment.tests["facts"] = lambda part: isinstance(part, Facts)
    environment.tests["grid"] = lambda part: isinstance(part, Grid)
    environment.tests["block"] = lambda part: isinstance(part, Block)
    environment.filters["numeric"] = _is_numeric
    environment.globals |= {"tone": _tone, "bar": _bar}
    return environment


def _is_numeric(part: Grid, column: int) -> bool:
    """Whether a column holds numbers, which are compared by their ends."""
    cells = [row[column] for row in part.rows]
    return any(cell != NOTHING for cell in cells) and all(cell == NOTHING or _NUMBER.fullmatch(cell) for cell in cells)


def _bar(span: tuple[float, float] | None) -> Markup:
    """When a row of the timeline began and how long it took, drawn."""
    if span is None:
        return Markup()
    left, right = span
    width = max(right - left, _LEAST)
    return Markup(
        '<svg class="bar" aria-hidden="true"><rect x="{:.2f}%" y="2" width="{:.2f}%" height="10" rx="2"/></svg>'
    ).format(min(left, 1 - width) * 100, width * 100)


def _tone(part: Part, place: int) -> str:
    return part.tones[place] if isinstance(part, Grid) and place < len(part.tones) else "info"
