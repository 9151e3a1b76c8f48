"""``tachograph worker``, ``snapshots``, ``sink``, ``topics``, ``migrate``: what the pipeline is and stands on."""

import signal
import sys
import threading
from typing import Annotated, Any

import typer

from tachograph.console.cli.output import JsonFlag, note, print_json, print_table
from tachograph.schemas.logs import configure_logs
from tachograph.schemas.settings import LogFormat, Settings, load_settings

Instance = Annotated[
    str,
    typer.Option(
        "--instance",
        help="Name of this process within its group. A restart under the same name gets its partitions back at once.",
    ),
]

LogFormatOption = Annotated[
    LogFormat | None,
    typer.Option("--log-format", help="How to log on stderr: for people, or a JSON object per line. [default: text]"),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(worker)
    app.command()(snapshots)
    app.command()(sealer)
    app.command()(sink)
    app.command()(evaluators)
    app.command()(migrate)
    topics = typer.Typer(help="Topics of the broker.", no_args_is_help=True)
    topics.command("apply")(topics_apply)
    topics.command("list")(topics_list)
    app.add_typer(topics, name="topics")


def worker(
    instance: Instance = "",
    replay_from: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="OFFSET|TIME|earliest",
            help="Read again from here before going on. Changes no result; no other worker may be at work.",
        ),
    ] = None,
    log_format: LogFormatOption = None,
) -> None:
    """Run a stream processor: records in, rows and violations out."""
    from tachograph.processors import run_worker  # noqa: PLC0415 - Faust takes a second to import

    settings = _named(load_settings(), "worker", instance)
    _log_as(log_format, settings)
    run_worker(settings, replay_from=replay_from)


def snapshots(instance: Instance = "", log_format: LogFormatOption = None) -> None:
    """Run a snapshot step: what a fault captured is copied, still encrypted, to the artifact store."""
    from tachograph.processors.snapshots.service import run_snapshots  # noqa: PLC0415 - imported where it is used

    settings = _named(load_settings(), "snapshots", instance)
    _log_as(log_format, settings)
    run_snapshots(settings, stop=_stopped_by_signals())


def sealer(instance: Instance = "", log_format: LogFormatOption = None) -> None:
    """Run a sealer: proposed records are judged by the catalog, chained, signed and put under checkpoints."""
    from tachograph.processors.sealing.service import run_sealer  # noqa: PLC0415 - as above

    settings = _named(load_settings(), "sealer", instance)
    _log_as(log_format, settings)
    run_sealer(settings, stop=_stopped_by_signals())


def sink(instance: Instance = "", log_format: LogFormatOption = None) -> None:
    """Run a ClickHouse sink: rows in, rows landed exactly once."""
    from tachograph.sinks.clickhouse import run_sink  # noqa: PLC0415 - as above
    from tachograph.sinks.clickhouse.garbage import spare_collector  # noqa: PLC0415 - as above

    settings = _named(load_settings(), "sink", instance)
    _log_as(log_format, settings)
    spare_collector()
    run_sink(settings, stop=_stopped_by_signals())


def evaluators(instance: Instance = "", log_format: LogFormatOption = None) -> None:
    """Run the plug-in evaluators, a judge model among them: events in, their verdicts out."""
    from tachograph.processors.evaluate.service import run_evaluators  # noqa: PLC0415 - as above

    settings = _named(load_settings(), "evaluate", instance)
    _log_as(log_format, settings)
    run_evaluators(settings, stop=_stopped_by_signals())


def _stopped_by_signals() -> threading.Event:
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    return stop


def migrate(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be applied and change nothing.")] = False,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Replicated tables on this cluster. A dry run prints the SQL."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Bring the ClickHouse tables up to date."""
    from tachograph.sinks.clickhouse.migrate import migrate as migrate_tables  # noqa: PLC0415 - as above
    from tachograph.sinks.clickhouse.migrate import migration_statements  # noqa: PLC0415 - as above

    settings = load_settings()
    migrations = migrate_tables(settings, dry_run=dry_run, cluster=cluster)
    rows: list[dict[str, Any]] = [
        {"version": item.version, "name": item.name, "checksum": item.checksum} for item in migrations
    ]
    if dry_run and cluster is not None:
        for row, item in zip(rows, migrations, strict=True):
            row["statements"] = migration_statements(item.sql, database=settings.clickhouse.database, cluster=cluster)
    if as_json:
        print_json({"dry_run": dry_run, "migrations": rows})
    elif dry_run and cluster is not None:
        for row in rows:
            sys.stdout.write(f"-- {row['name']}\n" + "".join(f"{statement};\n" for statement in row["statements"]))
    elif rows:
        print_table(["version", "name"], [[row["version"], row["name"]] for row in rows])
    note(f"{len(rows)} migrations {'to apply' if dry_run else 'applied'}")


def topics_apply(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done and change nothing.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Create and configure every topic of the contract."""
    from tachograph.deploy.topics import apply_topics, plan_topics  # noqa: PLC0415 - as above

    changes = (plan_topics if dry_run else apply_topics)(load_settings().kafka)
    if as_json:
        print_json([{"topic": item.topic, "action": item.action, "config": dict(item.config)} for item in changes])
        return
    print_table(["topic", "action"], [[item.topic, item.action] for item in changes])
    changed = sum(item.action != "keep" for item in changes)
    note(f"{changed} of {len(changes)} topics {'would be' if dry_run else 'were'} created or changed")


def topics_list(*, as_json: JsonFlag = False) -> None:
    """List every topic of the contract: what it carries, how long, and where it lands."""
    from tachograph.schemas.topics import FOREVER, TOPICS  # noqa: PLC0415 - as above

    rows = [
        {
            "topic": topic.name,
            "key": topic.key,
            "keeps": "forever" if topic.retention_ms == FOREVER else f"{topic.retention_ms // 3_600_000} h",
            "table": topic.table,
            "writer": topic.writer,
            "reader": topic.reader,
            "schemas": list(topic.schemas),
            "description": topic.description,
        }
        for topic in TOPICS
    ]
    if as_json:
        print_json(rows)
    else:
        print_table(
            ["topic", "key", "keeps", "table", "description"],
            [[row["topic"], row["key"], row["keeps"], row["table"], row["description"]] for row in rows],
        )


def _log_as(log_format: LogFormat | None, settings: Settings) -> None:
    configure_logs(settings.log_level, log_format or settings.log_format)


def _named(settings: Settings, part: str, instance: str) -> Settings:
    if not instance:
        return settings
    section = getattr(settings, part).model_copy(update={"instance_id": instance})
    return settings.model_copy(update={part: section})
