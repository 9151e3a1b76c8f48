"""Changing the keys of a set that is in use. Both changes leave what was sealed before verifiable."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from tachograph.processors.catalog.documents import KeySetDocument
from tachograph.processors.sealing.custody import KeyFile
from tachograph.processors.sealing.errors import RotationError
from tachograph.processors.sealing.key_set import read_document, write_key_set
from tachograph.schemas.proofs.keys import KeyEntry, KeySet, KeySetError, rotate

NOTICE: Final = timedelta(minutes=1)
"""Least time between publishing a change and its effect: every sealer reads the set again before each batch, and must
know of a key before the first moment at which it counts."""


def rotate_key(key_file: Path, key_set: Path, key_id: str, effective_from: datetime, now: datetime) -> KeyEntry:
    """Add a key that takes over at a moment to come; the outgoing key signs for it."""
    document = read_document(key_set)
    if effective_from < now + NOTICE:
        raise RotationError(
            f"a key takes over {NOTICE.seconds} s from now at the earliest: sealers must hear of it first"
        )
    if document.keys[-1].effective_from >= effective_from:
        raise RotationError("the last key of the set begins later than that: choose a later moment")
    outgoing = document.keys[-1].key_id
    held = KeyFile.load(key_file)
    held.public(outgoing)
    # The private half first: a set that names a key nobody holds would stop every sealer.
    held = KeyFile.add(key_file, key_id)
    successor = KeyEntry(key_id=key_id, public_key=held.public(key_id), effective_from=effective_from)
    keys = rotate(document.keys, successor, lambda message: held.sign(outgoing, message))
    write_key_set(key_set, keys, _next(document))
    return keys[-1]


def revoke_key(key_set: Path, key_id: str, moment: datetime) -> KeyEntry:
    """Say from when on nothing that a key signs counts. What it sealed before stays, on a basis that says so."""
    document = read_document(key_set)
    if all(key.key_id != key_id for key in document.keys):
        raise RotationError(f"the key set has no key {key_id}")
    changed = tuple(
        key.model_copy(update={"revoked_at": moment}) if key.key_id == key_id else key for key in document.keys
    )
    try:
        KeySet(changed)
    except KeySetError as error:
        raise RotationError(f"{error}; revoke it from a moment after its successor took over") from None
    write_key_set(key_set, changed, _next(document))
    return next(key for key in changed if key.key_id == key_id)


def _next(document: KeySetDocument) -> str:
    major, minor, patch = map(int, document.version.split("."))
    return f"{major}.{minor}.{patch + 1}"
