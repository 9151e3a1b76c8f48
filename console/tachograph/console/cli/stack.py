"""``tachograph up``, ``status`` and ``down``: the local stack."""

import sys
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

from tachograph.console.cli.output import ERR, JsonFlag, note, print_json, print_table
from tachograph.schemas.settings import Settings, load_settings

if TYPE_CHECKING:
    from tachograph.deploy.stack import LocalStack

CHILDREN: Final[dict[str, tuple[str, ...]]] = {
    "worker": ("worker", "--instance", "worker-0"),
    "snapshots": ("snapshots", "--instance", "snapshots-0"),
    "sealer": ("sealer", "--instance", "sealer-0"),
    "sink": ("sink", "--instance", "sink-0"),
    "slo": ("slo", "run"),
}
"""Processes of the stack by name, each with its command, in the order of their start."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(up)
    app.command()(status)
    app.command()(down)


def up() -> None:
    """Start Kafka, ClickHouse, worker and sink on this machine, until Ctrl-C."""
    from tachograph.deploy.stack import LocalStack  # noqa: PLC0415 - the servers' packages are an extra

    with Download() as download, LocalStack(load_settings(), on_event=report, progress=download.update) as stack:
        settings = prepare(stack)
        note(
            f"ready: Kafka at {settings.kafka.bootstrap_servers}, ClickHouse at "
            f"{settings.clickhouse.address}, state in {settings.home}"
        )
        note("Ctrl-C stops everything. In another terminal: `tachograph status`, `tachograph runs`.")
        stack.run_until_signal()
        note("stopping ...")


def prepare(stack: "LocalStack") -> Settings:
    """Servers, topics, tables, children: the whole stack, ready for records."""
    from tachograph.deploy.topics import apply_topics  # noqa: PLC0415 - as above
    from tachograph.sinks.clickhouse.migrate import migrate  # noqa: PLC0415

    settings = stack.start_servers()
    created = [change for change in apply_topics(settings.kafka) if change.action != "keep"]
    note(f"topics: {len(created)} created or changed")
    applied = migrate(settings)
    note(f"tables: {len(applied)} migrations applied")
    make_sealing_keys(settings)
    command = [sys.executable, "-m", "tachograph.console.main"]
    stack.start_children([(name, [*command, *arguments]) for name, arguments in CHILDREN.items()])
    return settings


def make_sealing_keys(settings: Settings) -> None:
    """A key to seal with, for this machine, where there is none. One that is there is never changed."""
    from tachograph.processors.sealing.key_set import create_keys, key_file_of, key_set_of  # noqa: PLC0415 - as above

    if create_keys(settings):
        note(f"sealing: a new key in {key_file_of(settings)}, its public half in {key_set_of(settings)}")


def report(event: object) -> None:
    """One line per thing that happens to a server or child."""
    from tachograph.deploy.stack import ServerEvent  # noqa: PLC0415 - as above
    from tachograph.deploy.supervisor import ChildEvent  # noqa: PLC0415

    if isinstance(event, ServerEvent):
        done = f"ready after {event.seconds:.1f} s" if event.what == "ready" else "starting"
        note(f"{event.name}: {done}")
    elif isinstance(event, ChildEvent):
        died = f"died with {event.returncode}"
        if event.restart_in_s is not None:
            died += f", starting again in {event.restart_in_s:.1f} s"
        note(f"{event.name}: {died if event.what == 'died' else event.what} (process {event.pid})")


def status(*, as_json: JsonFlag = False) -> None:
    """Show what runs, on which port, and where its log is. Exit code 0 whether or not anything does."""
    from tachograph.deploy.status import status as stack_status  # noqa: PLC0415 - as above

    found = stack_status(load_settings().home)
    rows = [
        {
            "part": part.name,
            "state": "running" if part.running else "stopped",
            "pid": part.pid,
            "ports": list(part.ports),
            "log": str(part.log),
        }
        for part in (found.supervisor, *found.parts)
    ]
    if as_json:
        print_json({"home": str(found.home), "running": found.running, "started_at": found.started_at, "parts": rows})
    elif found.started_at is None:
        note(f"no stack was ever started in {found.home}: `tachograph up` starts one")
    else:
        print_table(
            ["part", "state", "pid", "ports", "log"],
            [
                [row["part"], row["state"], str(row["pid"] or "-"), " ".join(map(str, part.ports)) or "-", row["log"]]
                for row, part in zip(rows, (found.supervisor, *found.parts), strict=True)
            ],
        )


def down() -> None:
    """Stop the local stack of this folder."""
    from tachograph.deploy.status import down as stack_down  # noqa: PLC0415 - as above

    note("stopped" if stack_down(load_settings().home) else "nothing was running")


class Download(AbstractContextManager["Download"]):
    """A bar for the one-time download, shown only while there is one and only on a terminal."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> Self:
        return self

    def update(self, done: int, total: int) -> None:
        """Called by the download with bytes so far and in all."""
        if self._progress is None:
            note("fetching Kafka, once")
            self._progress = Progress(
                TextColumn("  {task.description}"), BarColumn(), DownloadColumn(), console=ERR, transient=True
            )
            self._progress.start()
            self._task = self._progress.add_task("jars", total=total)
        self._progress.update(self._task, completed=done)
        if done >= total:
            self._progress.stop()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
