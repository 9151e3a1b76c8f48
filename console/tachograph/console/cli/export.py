"""``tachograph export``: the rows of a run, or of a time, as files."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tachograph.console.cli.export_otlp import RunOption, SinceOption, TenantOption, UntilOption, otlp, selected
from tachograph.console.cli.output import note, print_json
from tachograph.console.database import reader
from tachograph.console.export.files import FileExport, FileFormat, NotExportedError, Written, wanted_tables
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import load_settings
from tachograph.schemas.tables.kinds import Table


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(invoke_without_command=True)
    group.callback()(export)
    group.command("otlp")(otlp)
    app.add_typer(group, name="export")


def export(
    context: typer.Context,
    *,
    run: RunOption = "",
    since: SinceOption = "",
    until: UntilOption = "",
    form: Annotated[
        FileFormat, typer.Option("--format", "-f", help="jsonl: an object per row; parquet: a file per table.")
    ] = FileFormat.JSONL,
    table: Annotated[
        list[str] | None, typer.Option("--table", help="Only this table; give it again for more. [default: all]")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File to write; for Parquet of several tables a folder. [default: stdout, for jsonl]"
        ),
    ] = None,
    content: Annotated[
        bool, typer.Option("--content/--no-content", help="With the columns of captured content, or without them.")
    ] = True,
    tenant: TenantOption = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as one JSON document.")] = False,
) -> None:
    """Write the rows of a run, or of a time, as JSON lines or Parquet. `export otlp` sends them to a collector."""
    if context.invoked_subcommand is not None:
        return
    if not (run or since or until):
        raise ConfigError("say what to export: --run RUN, or --since and --until; or send it with `export otlp`")
    if as_json and output is None:
        raise ConfigError("--json tells what was written where: give a place with -o")
    wanted = wanted_tables(table or [], of_a_run=bool(run))
    with reader(load_settings()) as database:
        files = FileExport(database, selected(database, run, since, until, tenant), content)
        if form is FileFormat.PARQUET:
            if output is None:
                raise ConfigError("Parquet needs a place: give a file that ends in .parquet, or a folder, with -o")
            if output.suffix == ".parquet":
                if len(wanted) != 1:
                    raise ConfigError("a Parquet file holds one table: name it with --table, or give -o a folder")
                written = [files.one_parquet(wanted[0], output)]
            else:
                written = list(files.parquet(wanted, output))
        else:
            written = _json_lines(files, wanted, output)
    _tell_written(written, output, as_json=as_json)


def _json_lines(files: FileExport, wanted: Sequence[Table], output: Path | None) -> list[Written]:
    if output is None:
        written = list(files.json_lines(wanted, sys.stdout.buffer))
        sys.stdout.buffer.flush()
        return written
    partial = output.with_name(f".{output.name}.partial")
    try:
        with partial.open("wb") as file:
            written = list(files.json_lines(wanted, file))
        partial.replace(output)
    except OSError as error:
        raise NotExportedError(
            f"{output} could not be written ({error.strerror}): choose another place with -o"
        ) from None
    finally:
        partial.unlink(missing_ok=True)
    return [Written(item.table, item.rows, output) for item in written]


def _tell_written(written: Sequence[Written], output: Path | None, *, as_json: bool) -> None:
    rows = sum(item.rows for item in written)
    if as_json:
        counts: dict[str, int] = {}
        for item in written:
            counts[item.table] = counts.get(item.table, 0) + item.rows
        paths = sorted({str(item.path) for item in written if item.path is not None})
        print_json({"rows": rows, "tables": {table: count for table, count in counts.items() if count}, "files": paths})
        return
    full = len({item.table for item in written if item.rows})
    note(f"{rows:,} rows of {full} tables" + (f" in {output}" if output is not None else ""))
