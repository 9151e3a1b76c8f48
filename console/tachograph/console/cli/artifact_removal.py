"""``tachograph artifacts gc`` and ``erase``: removal on purpose, by retention or for good. Both are put on record."""

import asyncio
import getpass
import os
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from tachograph.console.cli.output import JsonFlag, note, print_json
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import Settings, load_settings
from tachograph.sinks.artifacts import Entry, Erasure, open_store
from tachograph.sinks.artifacts.entry import from_micros, micros


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command("gc")(gc)
    group.command("erase")(erase)


def gc(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed and change nothing.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Remove at once the bytes that retention no longer keeps, of every tenant, and put that on record.

    The snapshot step does the same every hour.
    """
    from tachograph.console.cli.artifacts import shown  # noqa: PLC0415 - which registers us

    settings = load_settings()
    removed = asyncio.run(_collected(settings, dry_run=dry_run))
    if as_json:
        print_json([shown(entry) for entry in removed])
    note(f"{len(removed)} artifacts {'would be' if dry_run else 'were'} removed")


def erase(
    *,
    run: Annotated[str, typer.Option("--run", help="Erase what was stored for this run.")] = "",
    subject: Annotated[str, typer.Option("--subject", help="Erase what was stored for this subject.")] = "",
    reason: Annotated[str, typer.Option("--reason", help="Why; goes on record. No personal data.")],
    by: Annotated[str, typer.Option("--by", help="Who erases; goes on record. [default: your login name]")] = "",
    tenant: Annotated[str, typer.Option("--tenant", help="Whose artifacts. [default: the tenant_id setting]")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Destroy a subject's key and bytes for good. Tombstones stay, and the erasure itself is recorded and sealed."""
    if bool(run) == bool(subject):
        raise ConfigError("name what to erase: --run RUN, or --subject SUBJECT")
    if not reason.strip():
        raise ConfigError("say why with --reason: it is all that will be left to explain the gap")
    if not yes and not typer.confirm("This cannot be undone. Erase?", err=True):
        raise typer.Exit(1)
    settings = load_settings()
    done = asyncio.run(_erased(settings, tenant or settings.tenant_id, subject or f"run:{run}", reason))
    if not done.recorded:
        _record(settings, done, by or _login_name())
    if as_json:
        print_json(_described(done))
    note(f"{len(done.artifacts)} artifacts erased")


async def _collected(settings: Settings, *, dry_run: bool) -> list[Entry]:
    from tachograph.processors.snapshots.removals import publish_removals  # noqa: PLC0415 - imported where it is used
    from tachograph.processors.snapshots.retention import collect  # noqa: PLC0415 - as above

    store, now = open_store(settings), micros(datetime.now(UTC))
    if dry_run:
        return await store.due(now, settings.artifacts)
    return await collect(store, settings.artifacts, now, lambda removed: publish_removals(settings, removed))


async def _erased(settings: Settings, tenant: str, subject: str, reason: str) -> Erasure:
    from tachograph.processors.snapshots.removals import publish_removals  # noqa: PLC0415 - as above

    store = open_store(settings)
    done = await store.erase(tenant, store.subject_name(tenant, subject), now=micros(datetime.now(UTC)), reason=reason)
    if not done.recorded:
        await publish_removals(settings, done.artifacts)
    return done


def _record(settings: Settings, done: Erasure, by: str) -> None:
    from tachograph.console.erasures import record_erasure  # noqa: PLC0415 - as above

    if not record_erasure(settings, done, by):
        note("Kafka does not have the record of it yet; it waits in the spool: run `tachograph spool drain` later")
    asyncio.run(open_store(settings).recorded(done))


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may run under a number that has no name
        return f"uid:{os.getuid()}"


def _described(done: Erasure) -> dict[str, Any]:
    from tachograph.console.erasures import record_id  # noqa: PLC0415 - as above

    return {
        "record_id": record_id(done),
        "tenant_id": done.tenant_id,
        "subject_name": done.subject_name,
        "key_id": done.key_id,
        "erased_at": from_micros(done.erased_at).isoformat(),
        "reason": done.reason,
        "artifacts": [{"artifact_id": entry.artifact_id, "hash": entry.hash} for entry in done.artifacts],
    }
