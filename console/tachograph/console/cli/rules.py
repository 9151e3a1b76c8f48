"""``tachograph rules``: whether rule packs can be used, and which checks there are."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tachograph.console.cli.output import JsonFlag, note, print_json, print_table

EXIT_FAILED = 1


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Rule packs that the stream judges by.", no_args_is_help=True)
    group.command("check")(check)
    group.command("list")(list_checks)
    app.add_typer(group, name="rules")


def check(
    path: Annotated[
        Path | None, typer.Argument(help="Rule pack or folder of packs. [default: those that ship with the package]")
    ] = None,
    *,
    as_json: JsonFlag = False,
) -> None:
    """Check rule packs: every problem as file:line:column. Exit code 1 if there is one."""
    from tachograph.processors.evaluate.catalog import check_packs, default_folder  # noqa: PLC0415 - where it is used

    packs, problems = check_packs(default_folder() if path is None else path)
    if as_json:
        print_json(
            {
                "packs": [
                    {
                        "pack": pack.name,
                        "version": pack.version,
                        "rules": len(pack.rules),
                        "learned_from": {rule.id: rule.learned_from for rule in pack.rules if rule.learned_from},
                    }
                    for pack in packs
                ],
                "problems": [asdict(problem) for problem in problems],
            }
        )
    else:
        for problem in problems:
            typer.echo(str(problem))
        if not problems:
            print_table(["pack", "version", "rules"], [[pack.name, pack.version, len(pack.rules)] for pack in packs])
            learned = [[rule.id, record] for pack in packs for rule in pack.rules for record in rule.learned_from]
            if learned:
                print_table(["rule", "learned from record"], learned)
    if problems:
        note(f"{len(problems)} problems; docs/evaluation.md shows how a rule pack is written")
        raise typer.Exit(EXIT_FAILED)


def list_checks(*, as_json: JsonFlag = False) -> None:
    """List the named checks that rules and constraints can use."""
    from tachograph.processors.evaluate import packs as _packs  # noqa: F401, PLC0415 - registers the checks
    from tachograph.processors.evaluate.registry import CHECKS  # noqa: PLC0415 - where it is used

    rows = [
        {
            "check": spec.name,
            "family": spec.family,
            "kind": spec.side,
            "severity": spec.severity,
            "arguments": spec.usage().removeprefix("it takes "),
            "meaning": spec.summary,
        }
        for spec in CHECKS.values()
    ]
    if as_json:
        print_json(rows)
    else:
        print_table([*rows[0]], [[*row.values()] for row in rows])
