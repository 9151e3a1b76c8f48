"""``tachograph artifacts``: what is stored, and its content for those with the keys."""

import asyncio
import dataclasses
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from tachograph.console.cli import artifact_removal
from tachograph.console.cli.output import JsonFlag, note, print_json, print_table
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import Settings, load_settings
from tachograph.sinks.artifacts import ArtifactStore, Content, Entry, State, open_store
from tachograph.sinks.artifacts.agent_files import open_agent_artifact
from tachograph.sinks.artifacts.capture import opened_capture, unpacked
from tachograph.sinks.artifacts.entry import from_micros
from tachograph.sinks.artifacts.errors import ArtifactDamagedError, ArtifactMissingError
from tachograph.sinks.artifacts.keys import read_key_file

Tenant = Annotated[str, typer.Option("--tenant", help="Whose artifacts. [default: the tenant_id setting]")]
ArtifactId = Annotated[str, typer.Argument(help="Id of the artifact, or its first digits (8 or more).")]

ID_DIGITS: Final = 64
SHOWN_DIGITS: Final = 8
"""Digits of an id in a table: the whole would tear every line of it. Fewer name no artifact."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Artifacts: stored prompts, tool outputs and large contents.", no_args_is_help=True)
    group.command("ls")(ls)
    group.command("get")(get)
    group.command("verify")(verify)
    artifact_removal.register(group)
    app.add_typer(group, name="artifacts")


def ls(*, tenant: Tenant = "", as_json: JsonFlag = False) -> None:
    """List artifacts, removed ones too. Needs no key."""
    settings = load_settings()
    found = asyncio.run(_entries(open_store(settings), tenant or settings.tenant_id))
    rows = [shown(entry) for entry in found]
    if as_json:
        print_json(rows)
    elif rows:
        columns = ["artifact", "state", "kind", "run", "bytes", "stored"]
        print_table(columns, [_line(entry, row) for entry, row in zip(found, rows, strict=True)])
        note("the first digits of an id are enough for `get` and `verify`; --json has all of them")
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
    content = asyncio.run(content_of(settings, tenant or settings.tenant_id, artifact_id, workspace))
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
    artifact_id: Annotated[
        str, typer.Argument(help="Id of one artifact, or its first digits. [default: all of the tenant]")
    ] = "",
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
        shorter = [[row["artifact_id"][:SHOWN_DIGITS], row["state"], row["result"]] for row in results]
        print_table(["artifact", "state", "result"], shorter)
    damaged = sum(row["result"] not in {"ok", "removed"} for row in results)
    note(f"{len(results)} artifacts, {damaged} damaged")
    if damaged:
        raise typer.Exit(1)


@dataclasses.dataclass(frozen=True)
class _Content:
    data: bytes
    kind: Content


async def _entries(store: ArtifactStore, tenant: str) -> list[Entry]:
    return [entry async for entry in store.entries(tenant)]


async def content_of(settings: Settings, tenant: str, artifact_id: str, workspace: Path) -> _Content:
    """An artifact from the store, or from the folder of an agent's workspace."""
    store = open_store(settings)
    try:
        artifact_id = await _whole_id(store, tenant, artifact_id)
        entry = await store.entry(tenant, artifact_id)
    except ArtifactMissingError:
        found = open_agent_artifact(workspace, artifact_id)
        if found is None:
            raise
        return _Content(found, Content.PLAIN)
    return _Content(await store.get(tenant, artifact_id), entry.content)


async def _verified(store: ArtifactStore, tenant: str, artifact_id: str) -> list[dict[str, str]]:
    named = artifact_id and await _whole_id(store, tenant, artifact_id)
    entries = [await store.entry(tenant, named)] if named else await _entries(store, tenant)
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


async def _whole_id(store: ArtifactStore, tenant: str, digits: str) -> str:
    """The id that begins so. Fewer digits are left as they are: the store says what is wrong with them."""
    if not SHOWN_DIGITS <= len(digits) < ID_DIGITS:
        return digits
    begin_so = [entry.artifact_id for entry in await _entries(store, tenant) if entry.artifact_id.startswith(digits)]
    if len(begin_so) > 1:
        raise ConfigError(f"{len(begin_so)} artifacts begin with {digits}: give more digits of the id")
    if not begin_so:
        raise ArtifactMissingError(
            f"tenant {tenant} has no artifact whose id begins so; `tachograph artifacts ls` lists what there is"
        )
    return begin_so[0]


def _line(entry: Entry, row: dict[str, Any]) -> list[Any]:
    stored = from_micros(entry.created_at).strftime("%Y-%m-%d %H:%M:%SZ")
    first = entry.artifact_id[:SHOWN_DIGITS]
    return [first, row["state"], row["kind"], row["run_id"], entry.size_bytes, stored]


def shown(entry: Entry) -> dict[str, Any]:
    """An entry as JSON."""
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
