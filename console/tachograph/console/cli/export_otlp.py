"""``tachograph export otlp``: runs as traces and logs, to a collector of OpenTelemetry."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn

from tachograph.console.cli.completion import complete_run
from tachograph.console.cli.output import ERR, JsonFlag, note, print_json
from tachograph.console.database import DatabaseUnreachableError, QueryRefusedError, Reader, reader
from tachograph.console.export.selection import Selection
from tachograph.console.violations import moment
from tachograph.schemas.errors import ConfigError, TachographError
from tachograph.schemas.settings import Settings, load_settings
from tachograph.sinks.otlp.requests import Exported

if TYPE_CHECKING:
    from tachograph.console.export.memory import Memory
    from tachograph.console.export.otlp import OtlpExport, Tally

STATE_FOLDER: Final = "exports"
"""Below the state folder: what ``--follow`` remembers."""

_WORDS: Final = {"traces": "spans", "logs": "logs"}

RunOption = Annotated[
    str,
    typer.Option(
        "--run", metavar="RUN", help="A run's id, the beginning of it, or `latest`.", autocompletion=complete_run
    ),
]
SinceOption = Annotated[
    str, typer.Option(help="What happened then or later: 15m, 2h, 7d ago, or a time such as 2026-03-04T05:06:07Z.")
]
UntilOption = Annotated[str, typer.Option(help="What happened before: written as --since.")]
TenantOption = Annotated[str, typer.Option(help="Only this tenant's rows. [default: all]")]


class RejectedError(TachographError):
    """The collector took part of what was sent and threw it away."""


def otlp(
    *,
    run: RunOption = "",
    since: SinceOption = "",
    until: UntilOption = "",
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Go on with what lands, until Ctrl-C, and remember how far; --since is for the first time."
        ),
    ] = False,
    name: Annotated[
        str, typer.Option(help="With --follow: whose position is remembered. One for each collector.")
    ] = "default",
    endpoint: Annotated[str, typer.Option(help="Address of the collector. [default: otlp.endpoint]")] = "",
    header: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="One more header; give it again for more.")
    ] = None,
    semconv: Annotated[str, typer.Option(help="Version of the semantic conventions, such as 1.37.")] = "",
    content: Annotated[
        bool,
        typer.Option(
            "--content/--no-content", help="Also send prompts, outputs and tool texts, as they were captured."
        ),
    ] = False,
    signals: Annotated[
        list[Exported] | None,
        typer.Option("--signal", help="Only this one, for backends that take no other. [default: both]"),
    ] = None,
    tenant: TenantOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Send runs as OpenTelemetry traces, decision events and violations as logs, over OTLP (http/protobuf)."""
    from tachograph.console.export.connection import connected  # noqa: PLC0415 - imported where it is used
    from tachograph.console.export.memory import remembered  # noqa: PLC0415 - as above

    if not (run or since or until or follow):
        raise ConfigError("say what to export: --run RUN, --since and --until, or --follow")
    if follow and (run or until):
        raise ConfigError("--follow goes on with everything that lands: leave --run and --until out")
    settings = _with_options(load_settings(), endpoint, header or [], semconv)
    stop = threading.Event()
    with reader(settings) as database, _progress() as progress:
        selection = selected(database, run, "" if follow else since, until, tenant)
        with connected(
            settings,
            os.environ,
            database,
            selection,
            signals=signals or tuple(Exported),
            content=content,
            follow=follow,
            stop=stop,
            told=note,
            progress=progress,
        ) as exporting:
            if follow:
                with remembered(settings.home / STATE_FOLDER, name) as memory:
                    _begin(memory, database, _moment(since, "--since"))
                    _follow(exporting, memory, settings.otlp.poll_s, stop)
            else:
                exporting.once()
            _tell_sent(exporting.tally, as_json=as_json)
    if exporting.tally.rejected:
        raise RejectedError(
            f"the collector took {exporting.tally.rejected:,} items and threw them away; its own log says why. "
            "They are not sent again"
        )


def _with_options(settings: Settings, endpoint: str, headers: list[str], semconv: str) -> Settings:
    changed = settings.otlp.model_dump(exclude_unset=True)
    if endpoint:
        changed["endpoint"] = endpoint
    if semconv:
        changed["semconv"] = semconv
    if headers:
        if not all("=" in header for header in headers):
            raise ConfigError("--header takes NAME=VALUE, such as authorization=Bearer%20KEY")
        given = settings.otlp.headers.get_secret_value()
        changed["headers"] = ",".join(part for part in (given, *headers) if part)
    return settings.model_copy(update={"otlp": type(settings.otlp)(**changed)})


def _follow(exporting: "OtlpExport", memory: "Memory", poll_s: float, stop: threading.Event) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    while not stop.is_set():
        _round(exporting, memory, stop)
        stop.wait(poll_s)


def _begin(memory: "Memory", database: Reader, since: datetime | None) -> None:
    if memory.is_new:
        memory.begin(database, None if since is None else int(since.astimezone(UTC).timestamp() * 1_000_000))
        note(
            f"exporting what lands from now on; {memory.path} remembers how far"
            if since is None
            else f"exporting what landed since {since.isoformat()}; {memory.path} remembers how far"
        )
        return
    memory.check(database)
    note(f"going on where {memory.path} says" + ("; --since is for the first time only" if since is not None else ""))


def _round(exporting: "OtlpExport", memory: "Memory", stop: threading.Event) -> None:
    from tachograph.console.export.sources import SOURCES  # noqa: PLC0415 - imported where it is used
    from tachograph.sinks.otlp.delivery import StoppedError  # noqa: PLC0415 - as above

    for source in SOURCES:
        table = source.table.name
        try:
            exporting.follow(source, memory.position(table), partial(memory.keep, table))
        except StoppedError:
            return
        except (DatabaseUnreachableError, QueryRefusedError) as error:
            # It was there when this began: it is waited for, and nothing is passed over.
            note(f"{error}; looking again")
            return
        if stop.is_set():
            return


@contextmanager
def _progress() -> Iterator[Callable[["Tally"], None]]:
    columns = (SpinnerColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=ERR, transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("exporting")

        def show(tally: "Tally") -> None:
            progress.update(task, description=f"{_counts(tally)} sent")

        yield show


def _counts(tally: "Tally") -> str:
    return ", ".join(f"{delivered.accepted:,} {_WORDS[name.value]}" for name, delivered in tally.by_signal.items())


def _tell_sent(tally: "Tally", *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                _WORDS[name.value]: {
                    "accepted": delivered.accepted, "rejected": delivered.rejected, "retries": delivered.retries,
                }
                for name, delivered in tally.by_signal.items()
            }
            | {"requests": tally.requests}
        )  # fmt: skip
        return
    note(f"{_counts(tally)} accepted, in {tally.requests:,} requests")


def selected(database: Reader, run: str, since: str, until: str, tenant: str) -> Selection:
    """The rows that are meant. Raises UnknownRunError if there is no such run."""
    begin, end = _moment(since, "--since"), _moment(until, "--until")
    if begin is not None and end is not None and begin >= end:
        raise ConfigError("--since must be before --until")
    if not run:
        return Selection(tenant=tenant, since=begin, until=end)
    from tachograph.console.report.find import find_run  # noqa: PLC0415 - imported where it is used

    found = find_run(database, run, tenant)
    return Selection(tenant=found.tenant_id, run=found.run_id, since=begin, until=end)


def _moment(text: str, option: str) -> datetime | None:
    try:
        return moment(text) if text else None
    except ValueError:
        raise typer.BadParameter(
            "give 30s, 15m, 2h or 7d, or a time with its zone, such as 2026-03-04T05:06:07Z", param_hint=option
        ) from None
