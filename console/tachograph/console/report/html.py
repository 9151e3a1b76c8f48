"""The report as one HTML file that can be mailed: own style inside, no script, nothing that is fetched from elsewhere.

Every value goes through Jinja's autoescape, and unprintable characters are made visible before.
"""

from functools import cache
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from tachograph.console.report.page import Block, Facts, Grid, Page, Part
from tachograph.console.visible import clipped, visible, visible_line

BLOCK_LIMIT: Final = 20_000
"""Characters of a captured text that are shown; the JSON report has all of it."""


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
    environment.globals["tone"] = _tone
    return environment


def _tone(part: Part, place: int) -> str:
    return part.tones[place] if isinstance(part, Grid) and place < len(part.tones) else "info"
