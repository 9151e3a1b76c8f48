"""Groups of commands, as the help shows them. One list, so that a reader sees the whole command line at once."""

from typing import Final

import typer
from typer.models import CommandInfo, TyperInfo

START: Final = "Start here"
READ: Final = "Read what happened"
PROVE: Final = "Prove it"
RUN: Final = "Run the pipeline"
CARE: Final = "Look after it"

_COMMANDS: Final = {
    START: ("demo", "up", "status", "down", "doctor", "console"),
    READ: ("runs", "report", "diff", "query", "violations", "slo", "artifacts", "export"),
    PROVE: ("verify", "evidence", "proof", "replay", "recording", "keys", "catalog"),
    RUN: ("worker", "sink", "snapshots", "sealer", "signer", "evaluators", "alerts", "topics", "migrate"),
    CARE: ("rules", "prices", "retention", "redact", "spool", "dlq", "config"),
}
"""In the order in which they are shown. A command that is not named is shown in the last group."""


def arrange(app: typer.Typer) -> None:
    """Give every command its group, and every group its order."""
    order = [name for names in _COMMANDS.values() for name in names]
    for command in app.registered_commands:
        command.rich_help_panel = _panel(name_of(command))
    for group in app.registered_groups:
        group.rich_help_panel = _panel(name_of(group))
    app.registered_commands.sort(key=lambda entry: _rank(name_of(entry), order))
    app.registered_groups.sort(key=lambda entry: _rank(name_of(entry), order))


def name_of(entry: CommandInfo | TyperInfo) -> str:
    """Name that a command or a group is called by."""
    return str(entry.name or getattr(entry.callback, "__name__", ""))


def _panel(name: str) -> str:
    return next((panel for panel, names in _COMMANDS.items() if name in names), CARE)


def _rank(name: str, order: list[str]) -> int:
    return order.index(name) if name in order else len(order)
