"""Groups of commands, as the help shows them. One list, so that a reader sees the whole command line at once."""

from typing import Final

import typer

START: Final = "Start here"
READ: Final = "Read what happened"
PROVE: Final = "Prove it"
RUN: Final = "Run the pipeline"
CARE: Final = "Look after it"

_COMMANDS: Final = {
    START: ("demo", "up", "status", "down", "doctor", "console"),
    READ: ("runs", "report", "diff", "query", "violations", "slo", "artifacts"),
    PROVE: ("verify", "replay", "records", "catalog", "keys", "evidence"),
    RUN: ("worker", "sink", "snapshots", "sealer", "evaluators", "alerts", "topics", "migrate"),
    CARE: ("rules", "redact", "spool", "dlq", "prices", "config"),
}
"""In the order in which they are shown. A command that is not named is shown in the last group."""

_PLACES: Final = {name: (panel, place) for panel, names in _COMMANDS.items() for place, name in enumerate(names)}


def arrange(app: typer.Typer) -> None:
    """Give every command its group, and every group its order."""
    for entry in (*app.registered_commands, *app.registered_groups):
        entry.rich_help_panel = _PLACES.get(name_of(entry), (CARE, 0))[0]
    order = [name for names in _COMMANDS.values() for name in names]
    app.registered_commands.sort(key=lambda entry: _rank(name_of(entry), order))
    app.registered_groups.sort(key=lambda entry: _rank(name_of(entry), order))


def name_of(entry: "typer.models.CommandInfo | typer.models.TyperInfo") -> str:
    """Name that a command or a group is called by."""
    callback = getattr(entry, "callback", None)
    return entry.name or getattr(callback, "__name__", "")


def _rank(name: str, order: list[str]) -> int:
    return order.index(name) if name in order else len(order)
