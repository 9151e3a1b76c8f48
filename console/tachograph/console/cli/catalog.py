"""``tachograph catalog``: what may be decided, checked before anything is decided by it."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tachograph.console.cli.output import JsonFlag, note, print_json, print_table

if TYPE_CHECKING:
    from tachograph.processors.catalog.catalog import Catalog

EXIT_FAILED = 1

CatalogFolder = Annotated[Path, typer.Argument(help="Folder that holds the catalog's YAML files.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="The decision catalog.", no_args_is_help=True)
    group.command("check")(check)
    group.command("terms")(terms)
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


def terms(
    decision: Annotated[str, typer.Argument(metavar="KEY@VERSION", help="Decision spec of the catalog.")],
    folder: CatalogFolder = Path("catalog/decisions"),
    *,
    pack: Annotated[
        str, typer.Option("--pack", metavar="ID@VERSION", help="Context pack; the only one if left out.")
    ] = "",
    profile: Annotated[str, typer.Option("--profile", metavar="ID@VERSION", help="Model profile; as above.")] = "",
    suite: Annotated[str, typer.Option("--suite", metavar="ID@VERSION", help="Evaluator suite; as above.")] = "",
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", metavar="ID@VERSION", help="Policy bundle; else the newest version in force."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write; else stdout.")] = None,
) -> None:
    """Write what an agent needs to check its plan before execution. Load it with tachograph.producers.load_terms."""
    from tachograph.processors.catalog import load_catalog  # noqa: PLC0415 - imported where it is used
    from tachograph.processors.catalog.documents import (  # noqa: PLC0415 - as above
        ContextPack,
        EvaluatorSuite,
        ModelProfile,
    )
    from tachograph.processors.catalog.terms import newest_in_force, terms_of  # noqa: PLC0415 - as above
    from tachograph.schemas.errors import ConfigError  # noqa: PLC0415 - as above
    from tachograph.schemas.proofs.keys import micros  # noqa: PLC0415 - as above
    from tachograph.schemas.terms_file import write_terms  # noqa: PLC0415 - as above

    catalog = load_catalog(folder)
    key, _, version = decision.rpartition("@")
    spec = catalog.spec(key, version)
    if spec is None:
        raise ConfigError(f"there is no decision spec {decision} in {folder}: `tachograph catalog check` lists what is")
    now, given = micros(datetime.now(UTC)), policy or []
    named = {reference.partition("@")[0] for reference in given}
    newest = [newest_in_force(catalog, name, now) for name in spec.policies if name not in named]
    lineage = {
        "pack_version": pack or _only(catalog, ContextPack, "--pack", serving=key),
        "model_profile": profile or _only(catalog, ModelProfile, "--profile"),
        "evaluator_suite": suite or _only(catalog, EvaluatorSuite, "--suite"),
        "policy_versions": [*given, *(reference for reference in newest if reference is not None)],
    }
    made = terms_of(catalog, spec, lineage)
    if made is None:
        raise ConfigError(f"{folder} lacks a document that these terms name: `tachograph catalog check` lists what is")
    if output is None:
        typer.echo(write_terms(made), nl=False)
    else:
        output.write_text(write_terms(made), encoding="utf-8")
        note(f"terms of {decision}, hash {made.hash}, are in {output}: ship the file with the agent")


def _only(catalog: "Catalog", kind: type[Any], option: str, *, serving: str | None = None) -> str:
    """The one document of a kind; which one is meant must be said if there are several."""
    from tachograph.schemas.errors import ConfigError  # noqa: PLC0415 - imported where it is used

    found = [
        pinned.reference
        for pinned in catalog.documents
        if isinstance(pinned.document, kind) and (serving is None or serving in pinned.document.decisions)
    ]
    if len(found) != 1:
        raise ConfigError(f"say which with {option}: {', '.join(found) or 'the catalog has none'}")
    return found[0]
