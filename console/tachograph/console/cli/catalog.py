"""``tachograph catalog``: what may be decided, checked before anything is decided by it."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tachograph.console.cli.output import JsonFlag, note, print_json, print_table

EXIT_FAILED = 1

CatalogFolder = Annotated[Path, typer.Argument(help="Folder that holds the catalog's YAML files.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="The decision catalog.", no_args_is_help=True)
    group.command("check")(check)
    app.add_typer(group, name="catalog")


def check(
    folder: CatalogFolder = Path("catalog/decisions"),
    *,
    lock: Annotated[
        bool, typer.Option("--lock", help="If all is well, pin every document by its hash in catalog.lock.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check every document of a catalog. Problems come as file:line:column; exit code 1 if there are any."""
    from tachograph.processors.catalog import check_catalog  # noqa: PLC0415 - imported where it is used
    from tachograph.processors.catalog.load import LOCK_FILE  # noqa: PLC0415 - as above

    catalog, problems = check_catalog(folder)
    found = [
        {"kind": pinned.document.kind, "reference": pinned.reference, "hash": pinned.hash}
        for pinned in catalog.documents
    ]
    if as_json:
        print_json({"documents": found, "problems": [asdict(problem) for problem in problems]})
    elif problems:
        typer.echo("\n".join(map(str, problems)))
    else:
        print_table(["kind", "document", "hash"], [[row["kind"], row["reference"], row["hash"]] for row in found])
    if problems:
        note(f"{len(problems)} problems in {folder}: mend them and run this again")
        raise typer.Exit(EXIT_FAILED)
    note(f"{len(found)} documents are sound")
    if lock:
        (folder / LOCK_FILE).write_text(catalog.lock(), encoding="utf-8")
        note(f"their hashes are in {folder / LOCK_FILE}: keep it beside them")
