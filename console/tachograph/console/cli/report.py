"""``tachograph report`` and ``diff``: one run explained, two runs compared."""

import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tachograph.console.cli.completion import complete_run
from tachograph.console.cli.output import OUT, JsonFlag, json_text, note, print_json, print_table
from tachograph.console.database import reader
from tachograph.console.report.model import RunReport
from tachograph.schemas.errors import TachographError
from tachograph.schemas.settings import Settings, load_settings

RunArgument = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run's id, the beginning of it, or `latest`.", autocompletion=complete_run),
]
TenantOption = Annotated[str, typer.Option(help="Only look among this tenant's runs. [default: all]")]


class Format(StrEnum):
    """How a report is shown."""

    TEXT = "text"
    JSON = "json"
    MD = "md"
    HTML = "html"


class NotWrittenError(TachographError):
    """The report could not be written to its file."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(report)
    app.command()(diff)


def report(
    run: RunArgument = "latest",
    *,
    form: Annotated[
        Format, typer.Option("--format", "-f", help="text: the short form; json, md and html have everything.")
    ] = Format.TEXT,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file instead of stdout.")] = None,
    content: Annotated[
        bool,
        typer.Option(
            "--content/--no-content", help="Show prompts, outputs and tool texts, as captured, or only their length."
        ),
    ] = True,
    tenant: TenantOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Explain one run: request, timeline, tool calls, decisions, context, violations, faults, records, cost."""
    from tachograph.console.report.document import without_content  # noqa: PLC0415 - imported where it is used

    chosen = Format.JSON if as_json else form
    made = read_report(load_settings(), run, tenant)
    made = made if content else without_content(made)
    if chosen is Format.TEXT and output is None:
        from tachograph.console.report.sections import page_of  # noqa: PLC0415 - as above
        from tachograph.console.report.terminal import SHORT, print_page  # noqa: PLC0415

        print_page(OUT, page_of(made).only(*SHORT))
        note(f"all of it: tachograph report {made.summary.run_id} --format html -o report.html")
        return
    text = rendered(made, chosen)
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise NotWrittenError(
            f"the report could not be written to {output} ({error.strerror}): choose another file with -o"
        ) from None
    note(f"written to {output}, {len(text.encode()):,} bytes")


def read_report(settings: Settings, run: str, tenant: str = "") -> RunReport:
    """The report of the run that is meant."""
    from tachograph.console.report.build import build_report  # noqa: PLC0415 - imported where it is used
    from tachograph.console.report.find import find_run  # noqa: PLC0415
    from tachograph.console.report.rows import read_rows  # noqa: PLC0415

    with reader(settings) as database:
        found = find_run(database, run, tenant)
        rows = read_rows(database, found.tenant_id, found.run_id)
    return build_report(rows, generated_at=datetime.now(UTC))


def rendered(made: RunReport, form: Format) -> str:
    """The report as text of a format."""
    from tachograph.console.report.document import document_of  # noqa: PLC0415 - imported where it is used
    from tachograph.console.report.html import html_of  # noqa: PLC0415
    from tachograph.console.report.markdown import markdown_of  # noqa: PLC0415
    from tachograph.console.report.sections import page_of  # noqa: PLC0415
    from tachograph.console.report.words import when  # noqa: PLC0415

    if form is Format.JSON:
        return json_text(document_of(made))
    page = page_of(made)
    if form is Format.HTML:
        return html_of(page, when(made.generated_at), made.schema_version)
    return markdown_of(page)


def diff(
    left: RunArgument,
    right: RunArgument,
    *,
    tenant: TenantOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Compare two runs: prompts, tools, decisions, outputs, cost. Exit code 0 whether or not they differ."""
    from tachograph.console.report.compare import compare, document_of  # noqa: PLC0415 - imported where it is used

    settings = load_settings()
    first, second = read_report(settings, left, tenant), read_report(settings, right, tenant)
    found = compare(first, second)
    if as_json:
        print_json(document_of(found))
        return
    if found.differences:
        print_table(
            ["what", "where", "change", first.summary.run_id, second.summary.run_id],
            [[item.kind, item.where, item.change, item.left, item.right] for item in found.differences],
        )
    by_kind = ", ".join(f"{count} {kind}" for kind, count in found.counts.items())
    note(f"{len(found.differences)} differences{f': {by_kind}' if by_kind else ''}")
