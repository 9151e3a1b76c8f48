"""``tachograph artifacts``: what is stored, its content for those with the keys, its removal."""

import asyncio
import dataclasses
import getpass
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tachograph.console.cli.output import JsonFlag, note, print_json, print_table
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import Settings, load_settings
from tachograph.sinks.artifacts import ArtifactStore, Content, Entry, Erasure, State, open_store
from tachograph.sinks.artifacts.agent_files import open_agent_artifact
from tachograph.sinks.artifacts.capture import opened_capture, unpacked
from tachograph.sinks.artifacts.entry import from_micros, micros
from tachograph.sinks.artifacts.errors import ArtifactDamagedError, ArtifactMissingError
from tachograph.sinks.artifacts.keys import read_key_file

Tenant = Annotated[str, typer.Option("--tenant", help="Whose artifacts. [default: the tenant_id setting]")]
ArtifactId = Annotated[str, typer.Argument(help="Id of the artifact, 64 hexadecimal digits.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Artifacts: stored prompts, tool outputs and large contents.", no_args_is_help=True)
    group.command("ls")(ls)
    group.command("get")(get)
    group.command("verify")(verify)
    group.command("gc")(gc)
    group.command("erase")(erase)
    app.add_typer(group, name="artifacts")


def ls(*, tenant: Tenant = "", as_json: JsonFlag = False) -> None:
    """List artifacts, removed ones too. Needs no key."""
    settings = load_settings()
    found = asyncio.run(_entries(open_store(settings), tenant or settings.tenant_id))
    rows = [_shown(entry) for entry in found]
    if as_json:
        print_json(rows)
    elif rows:
        columns = ["artifact_id", "state", "kind", "run_id", "size_bytes", "created_at", "retention"]
        print_table(columns, [[row[column] for column in columns] for row in rows])
    else:
        note("no artifacts yet: a fault of an agent makes some")


def get(
    artifact_id: ArtifactId,
    *,
    tenant: Tenant = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write. [default: stdout]")] = None,
    capture_key: Annotated[
        Path | None, typer.Option("--capture-key", help="Key file of the recorder. [default: HOME/keys/capture.key]")
    ] = None,
    workspace: Annotated[
        Path, typer.Option("--workspace", help="Workspace of an agent whose own artifact folder is looked at too.")
    ] = Path(),
    raw: Annotated[bool, typer.Option("--raw", help="Leave a capture as its recorder encrypted it.")] = False,
) -> None:
    """Write the content of an artifact. Needs the tenant's key, and for a capture the recorder's."""
    settings = load_settings()
    key_file = capture_key or settings.home / "keys" / "capture.key"
    content = asyncio.run(_content(settings, tenant or settings.tenant_id, artifact_id, workspace))
    plain = content.data
    if content.kind is Content.CAPTURE and not raw:
        plain = opened_capture(unpacked(content.data), read_key_file(key_file, "the recorder's capture key"))
    if output is None:
        sys.stdout.buffer.write(plain)
        sys.stdout.buffer.flush()
    else:
        output.write_bytes(plain)
        note(f"{len(plain)} bytes written to {output}")


def verify(
    artifact_id: Annotated[str, typer.Argument(help="Id of one artifact. [default: all of the tenant]")] = "",
    *,
    tenant: Tenant = "",
    as_json: JsonFlag = False,
) -> None:
    """Check stored bytes against their hashes. Needs no key. Exit code 1 if any is damaged."""
    settings = load_settings()
    store = open_store(settings)
    results = asyncio.run(_verified(store, tenant or settings.tenant_id, artifact_id))
    if as_json:
        print_json(results)
    else:
        print_table(["artifact_id", "state", "result"], [[*row.values()] for row in results])
    damaged = sum(row["result"] not in {"ok", "removed"} for row in results)
    note(f"{len(results)} artifacts, {damaged} damaged")
    if damaged:
        raise typer.Exit(1)


def gc(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed and change nothing.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Remove the bytes that retention no longer keeps, of every tenant, and put that on record."""
    settings = load_settings()
    removed = asyncio.run(_collected(settings, dry_run=dry_run))
    if as_json:
        print_json([_shown(entry) for entry in removed])
    note(f"{len(removed)} artifacts {'would be' if dry_run else 'were'} removed")


def erase(
    *,
    run: Annotated[str, typer.Option("--run", help="Erase what was stored for this run.")] = "",
    subject: Annotated[str, typer.Option("--subject", help="Erase what was stored for this subject.")] = "",
    reason: Annotated[str, typer.Option("--reason", help="Why; goes on record. No personal data.")],
    by: Annotated[str, typer.Option("--by", help="Who erases; goes on record. [default: your login name]")] = "",
    tenant: Tenant = "",
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


@dataclasses.dataclass(frozen=True)
class _Content:
    data: bytes
    kind: Content


async def _entries(store: ArtifactStore, tenant: str) -> list[Entry]:
    return [entry async for entry in store.entries(tenant)]


async def _content(settings: Settings, tenant: str, artifact_id: str, workspace: Path) -> _Content:
    store = open_store(settings)
    try:
        entry = await store.entry(tenant, artifact_id)
    except ArtifactMissingError:
        found = open_agent_artifact(workspace, artifact_id)
        if found is None:
            raise
        return _Content(found, Content.PLAIN)
    return _Content(await store.get(tenant, artifact_id), entry.content)


async def _verified(store: ArtifactStore, tenant: str, artifact_id: str) -> list[dict[str, str]]:
    entries = [await store.entry(tenant, artifact_id)] if artifact_id else await _entries(store, tenant)
    results = []
    for entry in entries:
        result = "ok" if entry.state is State.STORED else "removed"
        if entry.state is State.STORED:
            try:
                await store.sealed(entry)
            except ArtifactDamagedError as error:
                result = str(error)
        results.append({"artifact_id": entry.artifact_id, "state": entry.state.value, "result": result})
    return results


async def _collected(settings: Settings, *, dry_run: bool) -> list[Entry]:
    from tachograph.processors.snapshots.removals import publish_removals  # noqa: PLC0415 - Kafka's client, if needed

    store, now = open_store(settings), micros(datetime.now(UTC))
    due = await store.due(now, settings.artifacts)
    if dry_run:
        return due
    removed = [await store.expire(entry, now) for entry in due]
    await publish_removals(settings, removed)
    for entry in removed:
        await store.expired(entry)
    return removed


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


def _shown(entry: Entry) -> dict[str, Any]:
    deleted = None if entry.deleted_at is None else from_micros(entry.deleted_at).isoformat()
    return {
        "artifact_id": entry.artifact_id,
        "tenant_id": entry.tenant_id,
        "state": entry.state.value,
        "content": entry.content.value,
        "kind": entry.record.get("kind", ""),
        "trigger": entry.record.get("trigger", ""),
        "run_id": entry.record.get("run_id", ""),
        "path": entry.path,
        "hash": entry.hash,
        "size_bytes": entry.size_bytes,
        "created_at": from_micros(entry.created_at).isoformat(),
        "retention": entry.retention.value,
        "deleted_at": deleted,
        "reason": entry.reason,
    }
