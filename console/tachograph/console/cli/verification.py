"""``tachograph verify``: whether an evidence bundle holds."""

from pathlib import Path
from typing import Annotated

import typer

from tachograph.console.cli.output import JsonFlag, note, print_json, print_table

EXIT_FAILED = 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(verify)


def verify(
    bundle: Annotated[Path, typer.Argument(help="Evidence bundle: a folder or a zip.")],
    *,
    trust: Annotated[
        str | None, typer.Option(help="First public key of the key set (base64), from elsewhere than the bundle.")
    ] = None,
    anchor: Annotated[
        list[Path] | None,
        typer.Option(exists=True, dir_okay=False, help="A checkpoint kept elsewhere. May be repeated."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check every record, chain and checkpoint of an evidence bundle. Exit code 1 if anything does not hold."""
    from tachograph.console.verify import read_bundle, verify_bundle  # noqa: PLC0415 - imported where it is used

    shown = read_bundle(bundle)
    notes = [path.read_text(encoding="utf-8", errors="replace") for path in anchor or ()]
    findings = verify_bundle(shown, trusted_key=trust, anchors=notes)
    count = sum(len(records) for records, _ in shown.logs.values())
    rows = [{"code": item.code.value, "log_id": item.log_id, "place": item.place} for item in findings]
    if as_json:
        print_json({"records": count, "findings": rows})
    elif rows:
        print_table(["log", "place", "finding"], [[row["log_id"], row["place"], row["code"]] for row in rows])
    note(f"{count} records in {len(shown.logs)} logs, {len(rows)} findings")
    if trust is None:
        note("--trust was not given: the bundle vouches for its own keys")
    if rows:
        raise typer.Exit(EXIT_FAILED)
