"""``tachograph evidence`` and ``proof``: files that somebody else can check, without us and without a network."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tachograph.console.cli.output import JsonFlag, many, note, print_json, print_table
from tachograph.console.cli.verification import AnchorFiles, Tenant
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import load_settings

if TYPE_CHECKING:
    from tachograph.console.verify.stored import StoredLogs
    from tachograph.schemas.proofs.keys import KeySet

Output = Annotated[Path, typer.Option("--output", "-o", help="File to write; - for stdout.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    exports = typer.Typer(help="Evidence that an auditor can check alone.", no_args_is_help=True)
    exports.command("export")(export)
    exports.command("show")(show)
    app.add_typer(exports, name="evidence")
    proofs = typer.Typer(help="Proofs of single records and of growth, as files.", no_args_is_help=True)
    proofs.command("inclusion")(inclusion)
    proofs.command("consistency")(consistency)
    app.add_typer(proofs, name="proof")


def export(
    name: Annotated[str, typer.Argument(metavar="RUN|RECORD", help="Id of a run, or of a sealed record.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to make, or a name that ends in .zip.")],
    *,
    whole_logs: Annotated[
        bool, typer.Option("--whole-logs", help="Also every record of every log of the tenant.")
    ] = False,
    tenant: Tenant = "",
    anchor: AnchorFiles = None,
) -> None:
    """Write the sealed records of a run with their proofs, the keys, a verifier and a page that explains."""
    from tachograph.console.verify import write_bundle  # noqa: PLC0415 - imported where it is used
    from tachograph.console.verify.evidence import evidence  # noqa: PLC0415 - as above

    if output.exists():
        raise ConfigError(f"{output} exists already: evidence is not written over anything")
    held = [path.read_text(encoding="utf-8") for path in anchor or ()]
    with _logs(tenant) as (logs, keys):
        made = evidence(logs, name, keys, anchors=held, whole_logs=whole_logs)
    write_bundle(made, output)
    zipped = output.suffix == ".zip"
    take = f"unzip {output} tachograph_verify.py && python tachograph_verify.py"
    check = take if zipped else f"python {output / 'tachograph_verify.py'}"
    note(f"{many(len(made.proofs), 'record')} in {output}; check: {check} {output} --trust KEY")


def show(
    record: Annotated[str, typer.Argument(metavar="RECORD|RUN", help="Id of a sealed record, or of a run.")],
    *,
    tenant: Tenant = "",
    as_json: JsonFlag = False,
) -> None:
    """Explain a sealed record from nothing but itself."""
    from tachograph.console.verify.explain import explain  # noqa: PLC0415 - imported where it is used

    with _logs(tenant) as (logs, _):
        contents = [json.loads(item.sealed.body) for item in logs.named(record)]
    if as_json:
        print_json(contents)
        return
    for content in contents:
        print_table(["", ""], explain(content))


def inclusion(
    record: Annotated[str, typer.Argument(help="Id of a sealed record.")],
    *,
    output: Output = Path("-"),
    checkpoint: Annotated[
        Path | None, typer.Option(exists=True, help="Prove it under this checkpoint. [default: the latest]")
    ] = None,
    tenant: Tenant = "",
) -> None:
    """Prove that a record stands in its log: about 1 KB beside the record, however large the log is."""
    from tachograph.console.verify.proof import inclusion as prove  # noqa: PLC0415 - imported where it is used

    with _logs(tenant) as (logs, keys):
        found = logs.named(record)[0]
        signed = logs.covering(found.log_id, found.log_seq) if checkpoint is None else checkpoint.read_text("utf-8")
        _write(prove(logs.tree(found.log_id), found.log_id, found.log_seq, found.sealed, signed), keys, output)


def consistency(
    old: Annotated[Path, typer.Argument(exists=True, help="A checkpoint that you kept.")],
    *,
    output: Output = Path("-"),
    tenant: Tenant = "",
) -> None:
    """Prove that a log has only grown since a checkpoint."""
    from tachograph.console.verify.proof import consistency as prove  # noqa: PLC0415 - imported where it is used
    from tachograph.schemas.proofs import NoteError, TreeHead  # noqa: PLC0415 - as above

    kept = old.read_text(encoding="utf-8", errors="replace")
    try:
        log_id = TreeHead.parse(kept.partition("\n\n")[0] + "\n").origin.removeprefix("tachograph/")
    except NoteError:
        raise ConfigError(
            f"{old} is no checkpoint: keep the `note` of one, as in table checkpoints or in a proof"
        ) from None
    with _logs(tenant) as (logs, keys):
        _write(prove(logs.tree(log_id), log_id, kept, logs.covering(log_id, 0)), keys, output)


@contextmanager
def _logs(tenant: str) -> Iterator[tuple["StoredLogs", "KeySet"]]:
    from tachograph.console.database import reader  # noqa: PLC0415 - imported where it is used
    from tachograph.console.verify.stored import StoredLogs  # noqa: PLC0415 - as above
    from tachograph.processors.sealing.key_set import key_set_of, read_key_set  # noqa: PLC0415 - as above

    settings = load_settings()
    with reader(settings) as database:
        yield StoredLogs(database, tenant or settings.tenant_id), read_key_set(key_set_of(settings))


def _write(proof: dict[str, Any], keys: "KeySet", output: Path) -> None:
    text = json.dumps(proof | {"keys": [key.model_dump(mode="json") for key in keys.keys]}, indent=2) + "\n"
    if str(output) == "-":
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
        note(f"{output}: check with python tachograph_verify.py {output} --trust KEY")
