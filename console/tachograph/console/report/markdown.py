"""The report as Markdown. Nothing an agent wrote is markup: not in cells, and not in fenced blocks."""

import re
from collections.abc import Iterator
from typing import Final

from tachograph.console.report.page import Block, Facts, Grid, Page, Part
from tachograph.console.visible import clipped, visible, visible_line

BLOCK_LIMIT: Final = 4000
"""Characters of a captured text that are shown; the JSON report has all of it."""

_MARKUP: Final = re.compile(r"([\\`*\[\]|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_LEADING: Final = re.compile(r"\A[-#+=]")
"""What would make a heading or a list of a line."""
_ENTITIES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_FENCE: Final = re.compile(r"`{3,}")
_LINK: Final = re.compile(r"(?i)(?<=[a-z0-9])(:)(?=//)|(?<=www)(\.)|(?<=mailto)(:)|(?<=xmpp)(:)|(@)")
_BROKEN: Final = {":": "&#58;", ".": "&#46;", "@": "&#64;"}
"""As an entity, the character looks the same and makes no address for a viewer that links whatever looks like one."""


def markdown_of(page: Page) -> str:
    """The page as text for any Markdown viewer."""
    return "\n".join(_lines(page)) + "\n"


def _lines(page: Page) -> Iterator[str]:
    yield f"# {plain(page.title)}"
    yield ""
    yield _LEADING.sub(r"\\\g<0>", plain(page.headline))
    for section in page.sections:
        yield ""
        yield f"## {section.title}"
        for part in section.parts:
            yield ""
            yield from _part(part)


def _part(part: Part) -> Iterator[str]:
    if isinstance(part, Facts):
        yield "| | |"
        yield "|---|---|"
        yield from (f"| {name} | {plain(value)} |" for name, value in part.pairs)
    elif isinstance(part, Grid):
        yield f"| {' | '.join(part.columns)} |"
        yield f"|{'---|' * len(part.columns)}"
        yield from (f"| {' | '.join(plain(cell) for cell in row)} |" for row in part.rows)
    elif isinstance(part, Block):
        text = visible(clipped(part.text, BLOCK_LIMIT))
        longest = max((len(found[0]) for found in _FENCE.finditer(text)), default=2)
        fence = "`" * (longest + 1)
        yield from (_LEADING.sub(r"\\\g<0>", f"{plain(part.title)}:"), "", f"{fence}text", text, fence)
    else:
        yield part.text


def plain(text: str) -> str:
    """A text that is only text: no markup, no HTML, no address that a viewer would make a link of, on one line."""
    escaped = _MARKUP.sub(r"\\\1", visible_line(clipped(text)).translate(_ENTITIES))
    return _LINK.sub(lambda found: _BROKEN[found[0]], escaped)
