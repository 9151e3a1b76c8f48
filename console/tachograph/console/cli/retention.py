"""``tachograph retention``: what is kept, for how long and why, and keeping a run for good."""

import asyncio
import dataclasses
import getpass
from datetime import datetime
from typing import Annotated

import typer

from tachograph.console.cli.output import OUT, JsonFlag, note, print_json, print_table
from tachograph.console.database import Reader, reader
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import Settings, load_settings


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="What is kept, for how long, and why.", no_args_is_help=True)
    group.command("report")(report)
    group.command("apply")(apply)
    group.command("hold")(hold)
    app.add_typer(group, name="retention")


def report(*, as_json: JsonFlag = False) -> None:
    """Show, by table and class, how much there is, what expires when, and what is protected."""
    from tachograph.console.retention import retention_report  # noqa: PLC0415 - imported where it is used

    with reader(load_settings()) as database:
        found = retention_report(database)
    shares = [dataclasses.asdict(share) for share in found.shares]
    if as_json:
        print_json({"tables": shares, "kept_runs": found.kept_runs})
        return
    columns = {"table": "table", "keeping": "class", "days": "days", "rows": "rows", "bytes": "bytes"}
    columns |= {"oldest": "oldest", "next_expiry": "first goes"}
    columns |= {name: name for name in ("overdue", "unmarked") if any(share[name] for share in shares)}
    print_table([*columns.values()], [[_shown(name, share[name]) for name in columns] for share in shares])
    OUT.print()
    print_table(["runs kept for good", "runs"], list(found.kept_runs.items()))
    note("bytes are the table's size on disk, divided by rows; `tachograph artifacts ls` shows the artifacts'")
    if any(share.unmarked for share in found.shares):
        note("some rows of kept runs are not marked yet and would expire: run `tachograph retention apply`")


Cluster = Annotated[
    str | None, typer.Option("--cluster", metavar="NAME", help="Mark them on every shard of this cluster.")
]


def apply(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would be marked and change nothing.")] = False,
    cluster: Cluster = None,
    as_json: JsonFlag = False,
) -> None:
    """Mark rows and artifacts of runs that are kept for good, so that they do not expire. Run it once a day."""
    from tachograph.sinks.clickhouse.kept_runs import mark_kept_rows  # noqa: PLC0415 - as above

    settings = load_settings()
    marked = mark_kept_rows(settings.clickhouse, dry_run=dry_run, cluster=cluster)
    with reader(settings) as database:
        artifacts = _protect(settings, database, dry_run=dry_run)
    if as_json:
        print_json({"dry_run": dry_run, "rows": dict(marked), "artifacts": artifacts})
    else:
        print_table(["table", "rows"], [[table, rows] for table, rows in marked.items() if rows])
    note(f"{sum(marked.values()):,} rows and {artifacts:,} artifacts {'to mark' if dry_run else 'marked'}")


def hold(
    run: Annotated[str, typer.Argument(help="Run to keep for good.")],
    *,
    incident: Annotated[str, typer.Option(help="Incident that it is linked to.")],
    tenant: Annotated[str, typer.Option(help="Whose run it is. [default: your tenant]")] = "",
    cluster: Cluster = None,
) -> None:
    """Keep everything recorded in a run for good, because of an incident. There is no way back."""
    from tachograph.sinks.clickhouse.kept_runs import keep_run, mark_kept_rows  # noqa: PLC0415 - as above

    settings = load_settings()
    tenant_id = tenant or settings.tenant_id
    with reader(settings) as database:
        known = database.rows(
            "SELECT count() FROM agent_runs WHERE tenant_id = {tenant:String} AND run_id = {run:String}",
            {"tenant": tenant_id, "run": run},
        )[0][0]
    if not known:
        raise ConfigError(f"no run of that name landed for tenant {tenant_id}: see `tachograph runs`, or give --tenant")
    keep_run(settings.clickhouse, tenant_id=tenant_id, run_id=run, incident=incident, kept_by=getpass.getuser())
    marked = sum(mark_kept_rows(settings.clickhouse, cluster=cluster).values())
    with reader(settings) as database:
        artifacts = _protect(settings, database)
    note(f"kept: it no longer expires ({marked:,} rows and {artifacts:,} artifacts marked)")


def _protect(settings: Settings, database: Reader, *, dry_run: bool = False) -> int:
    from tachograph.console.kept_artifacts import protect_kept  # noqa: PLC0415 - as above
    from tachograph.sinks.artifacts import open_store  # noqa: PLC0415 - as above

    return asyncio.run(protect_kept(open_store(settings), database, dry_run=dry_run))


def _shown(name: str, value: object) -> object:
    if value is None:
        return "for good" if name == "days" else "-"
    # Retention counts in days, and ClickHouse removes rows once a day.
    return value.strftime("%Y-%m-%d") if isinstance(value, datetime) else value
