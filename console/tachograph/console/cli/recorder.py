"""``tachograph spool`` and ``redact``: what the recorder inside an agent holds, and what it would hide."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, TextColumn

from tachograph.console.cli.output import ERR, JsonFlag, note, print_json, print_table
from tachograph.schemas.settings import load_settings

EXIT_FAILED = 1
SpoolFolder = Annotated[Path, typer.Argument(help="Folder that was given to the recorder as its spool.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    spool = typer.Typer(help="Records that wait inside agents for the broker.", no_args_is_help=True)
    spool.command("inspect")(inspect)
    spool.command("drain")(drain)
    app.add_typer(spool, name="spool")
    app.command()(redact)


def inspect(folder: SpoolFolder, *, as_json: JsonFlag = False) -> None:
    """Show what waits in a spool folder, whose it is, and whether its owner lives."""
    from tachograph.producers.spool import inspect as inspect_spool  # noqa: PLC0415 - imported where it is used

    report = inspect_spool(folder)
    if as_json:
        print_json(asdict(report) | {"waiting": report.waiting})
        return
    rows = [
        [
            spool.spool,
            str(spool.pid or "-"),
            "alive" if spool.owner_alive else "gone",
            len(spool.segments),
            spool.waiting,
            sum(segment.bytes for segment in spool.segments),
        ]
        for spool in report.spools
    ]
    if rows:
        print_table(["spool", "process", "owner", "segments", "waiting", "bytes"], rows)
    note(f"{report.waiting} messages wait in {folder}, {report.rejected} were refused by the broker")
    if any(not spool.owner_alive and spool.waiting for spool in report.spools):
        note(f"their owners are gone: `tachograph spool drain {folder}` sends them")


def drain(
    folder: SpoolFolder,
    *,
    patience: Annotated[float, typer.Option(help="Seconds without progress after which to give up.")] = 30.0,
    as_json: JsonFlag = False,
) -> None:
    """Send what dead processes left behind. Exit code 1 if something still waits."""
    from tachograph.producers.spool import drain as drain_spool  # noqa: PLC0415 - as above

    with Progress(
        TextColumn("  {task.completed:.0f} messages acknowledged"), console=ERR, disable=not sys.stderr.isatty()
    ) as bar:
        task = bar.add_task("sent", total=None)
        kafka = load_settings().kafka
        report = drain_spool(folder, kafka, patience=patience, progress=lambda done: bar.update(task, completed=done))
    if as_json:
        print_json(asdict(report))
    note(
        f"{report.acknowledged} messages sent, {report.already_there} had arrived before; "
        f"{report.finished} of {report.adopted} spools are empty, {report.alive} belong to living processes"
    )
    if report.finished < report.adopted:
        note(
            f"what is left stays on disk: is there a broker at {kafka.address} "
            "(TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS)? `tachograph up` starts one here. Then run this again."
        )
        raise typer.Exit(EXIT_FAILED)


def redact(
    *,
    rules: Annotated[
        list[Path] | None, typer.Option("--rules", help="Rule files (TOML, gitleaks' format is accepted).")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what would be stored of a text: reads stdin, writes the redacted text, counts by rule on stderr."""
    from tachograph.producers.redaction import Redactor, RulePack, default_pack  # noqa: PLC0415 - as above

    text = sys.stdin.buffer.read().decode(errors="replace")
    result = Redactor(RulePack.load(*rules) if rules else default_pack()).text(text)
    counts = {finding.rule_id: finding.total for finding in result.findings}
    if as_json:
        print_json({"text": result.text, "redactions": counts, "dropped": result.dropped_reason})
        return
    sys.stdout.write(result.text)
    if result.dropped_reason is not None:
        note(f"the whole text was dropped: {result.dropped_reason.value}")
    for rule_id, count in counts.items():
        note(f"{rule_id}: {count}")
    if not counts and result.dropped_reason is None:
        note("nothing was redacted")
