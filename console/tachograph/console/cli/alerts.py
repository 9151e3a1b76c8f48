"""``tachograph alerts``: tell people and machines about violations."""

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from tachograph.console.cli.output import JsonFlag, note, print_json, print_table
from tachograph.schemas.settings import load_settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(alerts)


def alerts(
    *,
    routes: Annotated[
        Path | None, typer.Option(help="YAML file that says who hears of what. Without it, all goes to stdout.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Check the file, show its routes, deliver nothing.")] = False,
    instance: Annotated[str, typer.Option(help="Name of this process within its group.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """Deliver violations to webhooks, Alertmanager, Slack or stdout, until told to stop."""
    from tachograph.sinks.alerts import load_routes, run_alerts  # noqa: PLC0415 - imported where it is used

    settings = load_settings()
    table = load_routes(routes or settings.alerts.routes)
    if check:
        if as_json:
            print_json(table.model_dump(mode="json", exclude={"receivers": {"__all__": {"url"}}}))
            return
        kinds = {receiver.name: receiver.type for receiver in table.receivers}
        rows = [
            [
                route.name,
                ", ".join(route.match.kinds) or "all",
                route.match.at_least.value,
                ", ".join(f"{name} ({kinds[name]})" for name in route.receivers),
                "yes" if route.quiet_hours else "no",
            ]
            for route in table.routes
        ]
        print_table(["route", "kinds", "at least", "receivers", "quiet hours"], rows)
        return
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    if instance:
        section = settings.alerts.model_copy(update={"instance_id": instance})
        settings = settings.model_copy(update={"alerts": section})
    note(f"alerting by {len(table.routes)} routes to {len(table.receivers)} receivers")
    run_alerts(settings, table, stop=stop)
