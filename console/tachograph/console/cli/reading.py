"""``tachograph runs`` and ``query``: what landed."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from tachograph.console.cli.output import OUT, JsonFlag, note, print_json, print_table
from tachograph.console.database import Reader, reader
from tachograph.console.spoken import ago, duration
from tachograph.schemas import tables
from tachograph.schemas.enums import Severity
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import load_settings

WIDE, WIDER = 90, 120
"""Columns of terminals that have room for more than what matters most."""

RUNS_SQL = """
SELECT run_id, agent_id, environment, status, completeness, started_at, duration_ms, received, emitted
FROM runs
WHERE ({agent:String} = '' OR agent_id = {agent:String})
ORDER BY started_at DESC
LIMIT {limit:UInt32}
"""

BROKEN_SQL = """
SELECT run_id, severity, uniqExact(violation_id) FROM violations WHERE run_id IN {runs:Array(String)}
GROUP BY run_id, severity
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(runs)
    app.command()(query)


def runs(
    *,
    agent: Annotated[str, typer.Option(help="Only runs of this agent.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many, latest first.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """List the latest runs."""
    with reader(load_settings()) as database:
        columns, rows = database.table(RUNS_SQL, {"agent": agent, "limit": limit})
        found = [dict(zip(columns, row, strict=True)) for row in rows]
        broken = _broken(database, [run["run_id"] for run in found])
    for run in found:
        run["violations"] = broken.get(run["run_id"], {})
    if as_json:
        print_json(found)
    elif found:
        _print_runs(found)
    elif agent:
        note(f"no run of an agent {agent}: `tachograph runs` without --agent lists all")
    else:
        note("no runs yet: `tachograph demo` makes some")


def _broken(database: Reader, run_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Violations of runs by severity, the worst first."""
    ranks = [severity.value for severity in reversed(Severity)]
    counted = database.rows(BROKEN_SQL, {"runs": list(run_ids)})
    found: dict[str, dict[str, int]] = {}
    for run_id, severity, count in sorted(counted, key=lambda row: ranks.index(row[1]) if row[1] in ranks else 9):
        found.setdefault(run_id, {})[severity] = count
    return found


def _print_runs(found: Sequence[dict[str, Any]]) -> None:
    """What matters most, and more where there is room for it. ``--json`` has all of it."""
    now, room = datetime.now(UTC), OUT.width
    rows = [
        {
            "run": run["run_id"],
            **({"agent": run["agent_id"], "environment": run["environment"]} if room >= WIDER else {}),
            "status": run["status"],
            "record": run["completeness"],
            "violations": ", ".join(f"{count} {severity}" for severity, count in run["violations"].items()) or None,
            "began": ago(run["started_at"], now),
            **({"took": duration(run["duration_ms"])} if room >= WIDE else {}),
            **({"records": run["received"]} if room >= WIDER else {}),
        }
        for run in found
    ]
    print_table([*rows[0]], [[*row.values()] for row in rows])


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT in ClickHouse's SQL.")],
    *,
    param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Value of {NAME:Type} in the SQL. {tenant:String} is your tenant."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask ClickHouse anything. The account behind this may only read."""
    settings = load_settings()
    with reader(settings) as database:
        columns, found = database.table(sql, {"tenant": settings.tenant_id} | _named_values(param or []))
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in found])
    else:
        print_table(columns, found)


def _named_values(given: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    if not all(name.isidentifier() and equals for name, equals, _ in pairs):
        raise ConfigError("--param takes NAME=VALUE, such as --param run=run_1")
    return {name: value for name, _, value in pairs}


def row_counts(database: Reader) -> dict[str, int]:
    """Rows per table."""
    # The names are those of our own tables.
    selects = [f"SELECT '{table.name}', count() FROM {table.name}" for table in tables.TABLES]  # noqa: S608
    union = " UNION ALL ".join(selects)
    counted: dict[str, Any] = dict(database.rows(union))  # type: ignore[arg-type]  # two columns
    return {table.name: counted[table.name] for table in tables.TABLES}
