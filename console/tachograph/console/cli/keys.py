"""``tachograph keys`` and ``tachograph signer``: what sealing is signed with."""

import signal
import threading
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from tachograph.console.cli.output import JsonFlag, note, print_json, print_table
from tachograph.schemas.settings import load_settings

KeyId = Annotated[str, typer.Argument(help="Id of the key.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Keys that seal records.", no_args_is_help=True)
    group.command("create")(create)
    group.command("show")(show)
    group.command("rotate")(rotate)
    group.command("revoke")(revoke)
    app.add_typer(group, name="keys")
    app.command()(signer)


def create() -> None:
    """Make a first key and its key set, where there is neither. Keys that are there are never changed."""
    from tachograph.processors.sealing.key_set import create_keys, key_file_of, key_set_of  # noqa: PLC0415 - as used

    settings = load_settings()
    if create_keys(settings):
        note(f"private key in {key_file_of(settings)} (0600); publish {key_set_of(settings)}")
    else:
        note(f"there is a key already: {key_set_of(settings)}; `tachograph keys rotate` adds the next")


def show(*, as_json: JsonFlag = False) -> None:
    """List the public keys with their windows. This is what an auditor needs."""
    from tachograph.processors.sealing.key_set import key_set_of, read_document  # noqa: PLC0415 - as above

    document = read_document(key_set_of(load_settings()))
    rows: list[dict[str, Any]] = [key.model_dump(mode="json") for key in document.keys]
    if as_json:
        print_json({"version": document.version, "keys": rows})
        return
    columns = ("key_id", "effective_from", "effective_until", "revoked_at", "introduced_by", "public_key")
    print_table(list(columns), [[str(row[name] or "-") for name in columns] for row in rows])


def rotate(
    key_id: KeyId,
    *,
    after: Annotated[int, typer.Option("--in", min=60, help="Seconds until the new key takes over.")] = 600,
) -> None:
    """Add the next key. The outgoing one signs for it, and ends where it begins."""
    from tachograph.processors.sealing.key_set import key_file_of, key_set_of  # noqa: PLC0415 - as above
    from tachograph.processors.sealing.rotation import rotate_key  # noqa: PLC0415 - as above

    settings, now = load_settings(), datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1)
    moment = now + timedelta(seconds=after)
    added = rotate_key(key_file_of(settings), key_set_of(settings), key_id, moment, now)
    note(
        f"{added.key_id} takes over from {added.introduced_by} at {moment.isoformat()}; publish {key_set_of(settings)}"
    )


def revoke(
    key_id: KeyId,
    *,
    at: Annotated[
        datetime | None, typer.Option("--at", formats=["%Y-%m-%dT%H:%M:%SZ"], help="Moment in UTC. [default: now]")
    ] = None,
) -> None:
    """Say from when on nothing that a key signs counts. What it sealed before verifies, and says on what basis."""
    from tachograph.processors.sealing.key_set import key_set_of  # noqa: PLC0415 - as above
    from tachograph.processors.sealing.rotation import revoke_key  # noqa: PLC0415 - as above

    settings = load_settings()
    moment = datetime.now(UTC).replace(microsecond=0) if at is None else at.replace(tzinfo=UTC)
    revoke_key(key_set_of(settings), key_id, moment)
    note(f"{key_id} is revoked from {moment.isoformat()}; publish {key_set_of(settings)}")


def signer() -> None:
    """Run the signing process: it holds the private keys, and signs for the sealer over a Unix socket."""
    from tachograph.processors.sealing.custodians import socket_of  # noqa: PLC0415 - as above
    from tachograph.processors.sealing.custody import WatchedKeyFile  # noqa: PLC0415 - as above
    from tachograph.processors.sealing.key_set import key_file_of  # noqa: PLC0415 - as above
    from tachograph.processors.sealing.signer import serve_signer  # noqa: PLC0415 - as above

    settings, stop = load_settings(), threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    held = WatchedKeyFile(key_file_of(settings))
    serve_signer(socket_of(settings), held, stop=stop, allowed=settings.sealer.signer_users)
