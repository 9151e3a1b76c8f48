"""Everything an agent controls is hostile: in every field, every format and every table nothing runs or hides."""

import io
import json
from dataclasses import fields, replace
from datetime import datetime
from html.parser import HTMLParser
from typing import Any

import pytest
from rich.console import Console

from tachograph.console.cli import output
from tachograph.console.cli.output import json_text
from tachograph.console.report.build import build_report
from tachograph.console.report.document import document_of
from tachograph.console.report.html import html_of
from tachograph.console.report.markdown import markdown_of
from tachograph.console.report.model import RunReport
from tachograph.console.report.rows import RunRows
from tachograph.console.report.sections import page_of
from tachograph.console.report.terminal import print_page
from tests.console.stories import LATER, Played

PAYLOADS = {
    "script tag": "<script>alert(1)</script>",
    "closing tag": "</pre></td></title></style><script>alert(1)</script>",
    "event handler": '"><img src=x onerror=alert(1)>',
    "attribute breaker": "' onmouseover='alert(1)",
    "link": "[click](javascript:alert(1)) ![x](https://evil.example/p.png) https://evil.example <https://evil.example>",
    "template": "{{ 7 * 7 }}{% raw %}",
    "terminal markup": "[bold red]x[/] [link=https://evil.example]y[/link] [/nothing]",
    "ansi escape": "\x1b]0;owned\x07\x1b[2J\x1b[8mhidden\x1b[0m",
    "c1 escape": "\x9b2J\x9d0;x\x9c",
    "right-to-left override": "invoice\u202efdp.exe\u2066\u2069\u200f",
    "null byte": "before\x00after",
    "carriage return": "harmless\rsomething else",
    "zero width": "pay\u200b\u2060\ufeffpal\u00ad",
    "fence": "```\n````\n# heading\n| a | b |\n",
    "separators": "one\u2028two\u2029three\u0085four",
    "lone surrogate": "broken \ud800 text",
}
LONG = "x" * 1_000_000
"""One line of a megabyte."""

ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "p", "nav", "a", "main", "section", "div",
    "table", "thead", "tbody", "tr", "th", "td", "span", "details", "summary", "pre", "footer", "dl", "dt", "dd",
    "svg", "rect",
}  # fmt: skip


def printable(text: str) -> bool:
    """Whether a terminal, an editor and a browser show all of it as it is."""
    return all(line.isprintable() for line in text.split("\n"))


def poisoned(rows: RunRows, payload: str) -> RunRows:
    """The same rows with the payload in every text, the names of enum values included: a foreign producer may."""

    def spoil(value: Any) -> Any:
        if isinstance(value, str):
            return payload
        if isinstance(value, dict):
            return {name if name.isidentifier() else payload: spoil(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [spoil(item) for item in value]
        return value

    changed = {item.name: spoil(getattr(rows, item.name)) for item in fields(rows) if item.name != "checkpoints"}
    if payload is LONG:  # in one row of each table: a gigabyte would test the machine
        changed = {name: value[:1] if isinstance(value, list) else value for name, value in changed.items()}
    # Ids that tell rows apart stay different, or all but one would be taken for repeats.
    for table in ("violations", "snapshots", "steps"):
        for place, row in enumerate(changed[table]):
            name = {"violations": "violation_id", "snapshots": "snapshot_id", "steps": "step_id"}[table]
            row[name] = f"{payload}{place}"
    return replace(rows, **changed)


@pytest.fixture(scope="module", params=[*PAYLOADS, "one megabyte"])
def hostile(request: pytest.FixtureRequest, played: Played) -> tuple[str, RunReport]:
    payload = PAYLOADS.get(request.param, LONG)
    return payload, build_report(poisoned(played.rows("docs"), payload), generated_at=LATER)


class Tags(HTMLParser):
    """What a browser would see."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= set(attrs)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_nothing_runs_in_the_html(hostile: tuple[str, RunReport]) -> None:
    """Only our own tags, no handler, no address but the page's own sections, and no unprintable character."""
    _, report = hostile
    text = html_of(page_of(report), "now", report.schema_version)
    seen = Tags()
    seen.feed(text)
    assert seen.tags <= ALLOWED
    assert {name for name, _ in seen.attributes} <= {
        "lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "scope", "aria-label", "aria-hidden",
        "x", "y", "width", "height", "rx",
    }  # fmt: skip
    assert all((value or "").startswith("#") for name, value in seen.attributes if name == "href")
    assert printable(text)


def test_nothing_is_markup_in_the_markdown(hostile: tuple[str, RunReport]) -> None:
    """No tag, no link and no image outside of fences; each fence that opens is closed by its own kind."""
    _, report = hostile
    text = markdown_of(page_of(report))
    assert printable(text)
    outside, fence = [], ""
    for line in text.split("\n"):
        if fence:
            fence = "" if line == fence else fence
        elif line.startswith("```"):
            fence = line.removesuffix("text")
        else:
            outside.append(line)
    assert fence == ""
    written = "\n".join(outside)
    assert "<" not in written
    assert "://" not in written
    assert "](" not in written.replace("\\](", "")


def test_nothing_drives_the_terminal(hostile: tuple[str, RunReport]) -> None:
    """Plain text comes out, on wide and on narrow terminals, and no line is wider than the terminal."""
    _, report = hostile
    for width in (60, 160):
        file = io.StringIO()
        print_page(Console(file=file, width=width, force_terminal=False), page_of(report))
        assert printable(file.getvalue())
        assert max(len(line) for line in file.getvalue().split("\n")) <= width


def test_the_json_has_all_of_it(hostile: tuple[str, RunReport]) -> None:
    """Not clipped, not changed, and still nothing to obey."""
    payload, report = hostile
    text = json_text(document_of(report))
    assert json.loads(text)["request"]["text"]["text"] == payload
    assert printable(text)


def test_nothing_is_hidden(played: Played) -> None:
    """The printable part of each payload can be read in every format, and what is cut off is counted."""
    for payload in PAYLOADS.values():
        page = page_of(build_report(poisoned(played.rows("docs"), payload), generated_at=LATER))
        words = [word for word in ("script", "owned", "hidden", "invoice", "after", "pal", "broken") if word in payload]
        for text in (html_of(page, "now", "1"), markdown_of(page)):
            assert all(word in text for word in words)
    page = page_of(build_report(poisoned(played.rows("docs"), LONG), generated_at=LATER))
    assert "characters more)" in html_of(page, "now", "1")
    assert len(html_of(page, "now", "1")) < 5_000_000


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("name", [*PAYLOADS, "one megabyte"])
def test_tables_of_the_command_line(name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command prints its rows with this function: names and cells are text, and fit."""
    payload, file = PAYLOADS.get(name, LONG), io.StringIO()
    monkeypatch.setattr(output, "OUT", Console(file=file, width=width, force_terminal=False, highlight=False))
    output.print_table([payload[:20], "n", "when"], [[payload, 1, datetime(2026, 1, 1)], [None, 2, payload]])  # noqa: DTZ001 - any object
    assert printable(file.getvalue())
    assert max(len(line) for line in file.getvalue().split("\n")) <= width


@pytest.mark.parametrize("name", PAYLOADS)
def test_sentences_of_the_command_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence that names what an agent chose, a run's id for example, cannot break its line or the program."""
    file = io.StringIO()
    monkeypatch.setattr(output, "ERR", Console(file=file, force_terminal=False, highlight=False))
    output.note(f"no run is called {PAYLOADS[name]}")
    assert printable(file.getvalue())
