"""``tachograph runs`` and ``query``: what landed."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from tachograph.console.cli.output import JsonFlag, note, print_json, print_table
from tachograph.console.database import Reader, reader
from tachograph.schemas import tables
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import load_settings

RUNS_SQL = """
SELECT run_id, agent_id, environment, status, completeness, started_at, duration_ms, received, emitted
FROM runs
WHERE ({agent:String} = '' OR agent_id = {agent:String})
ORDER BY started_at DESC
LIMIT {limit:UInt32}
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
        columns, found = database.table(RUNS_SQL, {"agent": agent, "limit": limit})
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in found])
    elif found:
        print_table(columns, found)
    else:
        note("no runs yet: `tachograph demo` makes some")


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
