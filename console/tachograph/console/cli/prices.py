"""``tachograph prices``: what models cost, as the cost views see it."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from tachograph.console.cli.output import JsonFlag, note, print_json, print_table
from tachograph.console.database import reader
from tachograph.schemas.settings import load_settings

_COLUMNS = ("provider", "model", "effective_from", "input_usd_per_mtok", "output_usd_per_mtok", "source")
LIST_SQL = """
SELECT provider, model, effective_from, (argMax(tuple(input_usd_per_mtok), loaded_at) AS input).1,
    (argMax(tuple(output_usd_per_mtok), loaded_at) AS output).1, argMax(source, loaded_at)
FROM model_prices
GROUP BY provider, model, effective_from
ORDER BY provider, model, effective_from
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Prices of models, which the cost views read.", no_args_is_help=True)
    group.command("apply")(apply)
    group.command("list")(list_prices)
    app.add_typer(group, name="prices")


def shipped_prices() -> Path:
    """In an installed package beside the catalog's code; in the source tree in ``catalog``."""
    found = find_spec("tachograph.processors")  # not imported: Faust takes a second
    assert found is not None
    assert found.origin is not None
    package = Path(found.origin).parent
    installed = package / "catalog" / "prices.yaml"
    return installed if installed.is_file() else package.parents[2] / "catalog" / "prices.yaml"


def apply(
    *,
    file: Annotated[
        Path | None, typer.Option(help="File of prices. [default: those that are shipped; check them before use]")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be loaded and change nothing.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Load a file of prices. What the table has already stays; what it has otherwise is superseded."""
    from tachograph.sinks.clickhouse.client import connect  # noqa: PLC0415 - imported where it is used
    from tachograph.sinks.clickhouse.prices import (  # noqa: PLC0415 - as above
        apply_prices,
        missing_prices,
        read_price_file,
        read_prices,
    )

    prices, house = read_prices(file or shipped_prices()), load_settings().clickhouse
    with connect(house, house.migrate_user, house.migrate_password) as client:
        new = (missing_prices if dry_run else apply_prices)(client, prices, database=house.database)
    rows = [[getattr(price, column) for column in _COLUMNS] for price in new]
    if as_json:
        print_json({"dry_run": dry_run, "prices": [dict(zip(_COLUMNS, row, strict=True)) for row in rows]})
    elif rows:
        print_table(_COLUMNS, rows)
    note(f"{len(rows)} of {len(prices)} prices {'to load' if dry_run else 'loaded'}")
    if file is None:
        note(
            f"These are from memory, as of {read_price_file(shipped_prices()).as_of}: check them before use, and load "
            "your own with `tachograph prices apply --file`."
        )


def list_prices(*, as_json: JsonFlag = False) -> None:
    """List the prices that the views use."""
    with reader(load_settings()) as database:
        rows = database.rows(LIST_SQL)
    if as_json:
        print_json([dict(zip(_COLUMNS, row, strict=True)) for row in rows])
    elif rows:
        print_table(_COLUMNS, rows)
    else:
        note("no prices yet: `tachograph prices apply` loads those that are shipped")
