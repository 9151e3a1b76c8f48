"""``tachograph slo``: what is promised, how much may still go wrong, and the process that watches it."""

import signal
import threading
import time
from typing import Annotated, Any

import typer

from tachograph.console.cli.output import JsonFlag, note, print_json, print_table
from tachograph.console.database import QueryRefusedError, Reader, reader
from tachograph.console.spoken import duration
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import Settings, load_settings

Tenant = Annotated[str, typer.Option(help="Only this tenant.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Service level objectives and their error budgets.", no_args_is_help=True)
    group.command("list")(list_objectives)
    group.command("show")(show)
    group.command("budget")(budget)
    group.command("run")(run)
    app.add_typer(group, name="slo")


def list_objectives(*, as_json: JsonFlag = False) -> None:
    """List the objectives. Asks no server."""
    rows = [_described(objective) for objective in _objectives(load_settings())]
    if as_json:
        print_json(rows)
    else:
        print_table(
            ["objective", "target", "period", "table", "meaning"],
            [
                [row["name"], row["target"], f"{row['period_s'] // 86_400} d", row["table"], row["description"]]
                for row in rows
            ],
        )


def show(name: Annotated[str, typer.Argument(help="Name of the objective.")], *, as_json: JsonFlag = False) -> None:
    """Show one objective: what it counts, when it alerts, and how it stands for each tenant."""
    from tachograph.console.slo.burn import PAIRS  # noqa: PLC0415 - imported where it is used

    settings = load_settings()
    known = {objective.name: objective for objective in _objectives(settings)}
    if name not in known:
        raise ConfigError(f"no objective is named {name}; there are {', '.join(known)}")
    objective = known[name]
    alerts: list[dict[str, Any]] = [
        {
            "severity": pair.level.value,
            "long_s": pair.long_s,
            "short_s": pair.short_s,
            "burn_rate": round(pair.threshold(objective.period_s), 3),
        }
        for pair in PAIRS
    ]
    with reader(settings) as database:
        budgets = _budgets(settings, database, name=name, tenant="")
    if as_json:
        print_json({**_described(objective), "alerts": alerts, "tenants": budgets})
        return
    print_table(["", ""], [[key, value] for key, value in _described(objective).items()], title=objective.title)
    print_table(
        ["severity", "long window", "short window", "burn rate"],
        [
            [row["severity"], f"{row['long_s'] // 60} m", f"{row['short_s'] // 60} m", row["burn_rate"]]
            for row in alerts
        ],
    )
    _print_budgets(budgets)


def budget(*, tenant: Tenant = "", as_json: JsonFlag = False) -> None:
    """Show how much of every error budget is left, and when it will be gone at the present pace."""
    settings = load_settings()
    with reader(settings) as database:
        rows = _budgets(settings, database, name="", tenant=tenant)
    if as_json:
        print_json(rows)
    else:
        _print_budgets(rows)


def run() -> None:
    """Watch the objectives and publish what changes, until told to stop. Any number may run; one evaluates."""
    from tachograph.console.slo.evaluator import run_evaluator  # noqa: PLC0415 - imported where it is used

    settings = load_settings()
    objectives = _objectives(settings)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    note(f"watching {len(objectives)} objectives every {settings.slo.every_s} s")
    run_evaluator(settings, objectives, stop=stop)


def _objectives(settings: Settings) -> list[Any]:
    from tachograph.console.slo.shipped import objectives  # noqa: PLC0415 - imported where it is used

    return objectives(settings)


def _described(objective: Any) -> dict[str, Any]:
    return {
        "name": objective.name,
        "description": objective.description,
        "target": objective.target,
        "period_s": objective.period_s,
        "table": objective.table,
        "bad": objective.bad,
        "total": objective.total,
        "minimum_events": objective.minimum_events,
        "minimum_bad": objective.minimum_bad,
        "no_data_after_s": objective.no_data_after_s,
    }


def _budgets(settings: Settings, database: Reader, *, name: str, tenant: str) -> list[dict[str, Any]]:
    from tachograph.console.slo.alerting import figures_of  # noqa: PLC0415 - imported where it is used
    from tachograph.console.slo.counting import observe_all  # noqa: PLC0415 - as above
    from tachograph.console.slo.evaluator import moment_of  # noqa: PLC0415 - as above

    moment = moment_of(time.time(), settings.slo.every_s, settings.slo.lateness_s)
    rows = []
    objectives = [objective for objective in _objectives(settings) if name in {"", objective.name}]
    for objective, observations in zip(objectives, observe_all(database, objectives, moment), strict=True):
        if isinstance(observations, QueryRefusedError):
            note(f"{objective.name} cannot be evaluated: {observations}")
            continue
        rows += [
            {"objective": objective.name, "tenant_id": found.tenant_id, "at": moment, **figures_of(objective, found)}
            for found in observations
            if tenant in {"", found.tenant_id}
        ]
    return rows


def _print_budgets(rows: list[dict[str, Any]]) -> None:
    if not rows:
        note("no events were counted in the period")
        return
    print_table(
        ["objective", "tenant", "bad", "of", "budget left", "burn 1 h", "gone in"],
        [
            [
                row["objective"],
                row["tenant_id"],
                row["bad"],
                row["total"],
                f"{row['budget_left']:.1%}" if row["budget_left"] > 0 else f"{1 - row['budget_left']:.1f} x spent",
                f"{row['burn']['3600']:.2f} x",
                _gone_in(row["exhausted_in_s"]),
            ]
            for row in rows
        ],
    )


def _gone_in(seconds: float | None) -> str:
    if seconds is None:
        return "never"
    return duration(seconds * 1000) if seconds else "gone"
