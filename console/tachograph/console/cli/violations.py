"""``tachograph violations``: promises as they are broken."""

import sys
from textwrap import wrap
from typing import Annotated, Any

import orjson
import typer

from tachograph.console.cli.output import OUT, note, printable
from tachograph.console.visible import visible_json
from tachograph.schemas.enums import Severity
from tachograph.schemas.settings import load_settings
from tachograph.schemas.topics import ViolationKind, violation_topic

Kinds = Annotated[
    list[ViolationKind] | None, typer.Option("--kind", help="Only this kind; give it again for more. [default: all]")
]

COLUMNS = ("time", "severity", "kind", "code", "agent", "run", "message")
_INDENT = "    "
WIDE = 160
"""Columns of a terminal in which a violation has a line to itself; a narrower one gets two shorter lines."""
_LINE = "{:<24}  {:<8}  {:<13}  {:<40}  {:<20}  {:<36}  {}"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Broken promises, as they are found.", no_args_is_help=True)
    group.command("tail")(tail)
    app.add_typer(group, name="violations")


def tail(
    *,
    kind: Kinds = None,
    severity: Annotated[Severity, typer.Option(help="This severity or worse.")] = Severity.INFO,
    agent: Annotated[str, typer.Option(help="Only violations of this agent.")] = "",
    since: Annotated[
        str, typer.Option(help="Begin here: 15m, 2h, 7d ago, or a time such as 2026-03-04T05:06:07Z. [default: now]")
    ] = "",
    limit: Annotated[int, typer.Option(min=0, help="End after this many. 0: end on Ctrl-C.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Follow the violation topics until Ctrl-C. Joins no group and commits nothing, so it disturbs nobody."""
    from tachograph.console.violations import Tail, Wanted, moment  # noqa: PLC0415 - imported where it is used
    from tachograph.schemas.wire.registry import ConfluentRegistry  # noqa: PLC0415 - as above

    settings = load_settings()
    try:
        begin = moment(since) if since else None
    except ValueError:
        raise typer.BadParameter(
            "give 30s, 15m, 2h or 7d, or a time with its zone, such as 2026-03-04T05:06:07Z", param_hint="--since"
        ) from None
    wanted, url = Wanted(severity=severity, agent=agent), settings.schema_registry.url
    registry = ConfluentRegistry(url) if url else None
    shown = unreadable = 0
    topics = [violation_topic(each) for each in kind or ViolationKind]
    with Tail(settings.kafka, topics, since=begin, registry=registry) as following:
        note("following violations; end with Ctrl-C")
        try:
            if not as_json and OUT.width >= WIDE:
                _print(_LINE.format(*COLUMNS).rstrip())
            for row in following.rows():
                if following.unreadable > unreadable:
                    unreadable = following.unreadable
                    note(f"{unreadable} messages were passed over: they are not violations that this version can read")
                if row is None or not wanted.matches(row):
                    continue
                _print(_json_line(row) if as_json else _told(row))
                shown += 1
                if shown == limit:
                    return
        except KeyboardInterrupt:
            # The way this command ends.
            return


def _told(row: dict[str, Any]) -> str:
    return table_line(row) if OUT.width >= WIDE else two_lines(row, OUT.width)


def table_line(row: dict[str, Any]) -> str:
    """A violation on one line, safe for a terminal."""
    from tachograph.console.violations import as_json  # noqa: PLC0415 - as above

    names = ("occurred_at", "severity", "kind", "code", "agent_id", "run_id", "message")
    shown = as_json(row)
    return _LINE.format(*(_on_a_line(shown[name]) for name in names))


def two_lines(row: dict[str, Any], width: int) -> str:
    """When, how bad and what; below it where, and the sentence. No line is wider than the terminal."""
    from tachograph.console.violations import as_json  # noqa: PLC0415 - as above

    shown = {name: _on_a_line(value) for name, value in as_json(row).items()}
    head = f"{shown['occurred_at']}  {shown['severity']:<8}  {shown['code']}"
    below = f"{shown['run_id'] or shown['constraint_id']}: {shown['message']}"
    lines = wrap(head, width, subsequent_indent=_INDENT) + wrap(
        below, width, initial_indent=_INDENT, subsequent_indent=_INDENT
    )
    return "\n".join(lines)


def _on_a_line(value: object) -> str:
    return " ".join(printable(value).split())


def _json_line(row: dict[str, Any]) -> str:
    from tachograph.console.violations import as_json  # noqa: PLC0415 - as above

    return visible_json(orjson.dumps(as_json(row)).decode())


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    # Whoever reads the pipe wants it now.
    sys.stdout.flush()
