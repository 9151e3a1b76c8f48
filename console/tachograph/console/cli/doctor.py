"""``tachograph doctor``: what is wrong here, and what to do about it."""

import sys
from dataclasses import asdict

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn

from tachograph.console.cli.output import ERR, JsonFlag, note, print_json, print_table
from tachograph.schemas.settings import load_settings

EXIT_FAILED = 1
_MARKS = {"ok": "✓", "warn": "!", "fail": "✗", "skipped": "·"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(*, as_json: JsonFlag = False) -> None:
    """Check broker, topics, schemas, ClickHouse, grants, lag, disk, clock, keys and spool. Exit code 1 if one fails."""
    from tachograph.console.doctor import State, examine  # noqa: PLC0415 - imported where it is used

    columns = (SpinnerColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=ERR, transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("looking")
        found = examine(load_settings(), lambda name: progress.update(task, description=f"looking at {name}"))
    failed = sum(item.state is State.FAIL for item in found)
    if as_json:
        print_json({"ok": not failed, "checks": [asdict(item) for item in found]})
    else:
        print_table(
            ["", "check", "found", "what to do"],
            [[_MARKS[item.state], item.check, item.detail, item.todo or None] for item in found],
        )
    note(f"{failed} of {len(found)} checks failed" if failed else "nothing is broken")
    if failed:
        raise typer.Exit(EXIT_FAILED)
