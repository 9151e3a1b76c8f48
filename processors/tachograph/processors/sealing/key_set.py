"""The key set as a file: where it is, how it is read, and how a first one is made."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from tachograph.processors.catalog.catalog import Catalog
from tachograph.processors.catalog.documents import KeySetDocument
from tachograph.processors.catalog.errors import CatalogError
from tachograph.processors.catalog.load import read_file
from tachograph.processors.sealing.custody import KeyFile
from tachograph.processors.sealing.errors import CustodyError
from tachograph.schemas.placed_yaml import Problem
from tachograph.schemas.proofs.keys import KeyEntry, KeySet
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import EVENTS

KEY_SET_ID: Final = "sealing"
_FIRST_VERSION: Final = "1.0.0"


def key_set_of(settings: Settings) -> Path:
    """File of the public keys."""
    return settings.sealer.key_set or settings.home / "keys" / "sealing.yaml"


def key_file_of(settings: Settings) -> Path:
    """File of the private keys."""
    return settings.sealer.key_file or settings.home / "keys" / "sealing.key"


def read_key_set(path: Path) -> KeySet:
    """The latest version of the key set in a file; `CatalogError` with every problem if it cannot be used."""
    return KeySet(read_document(path).keys)


class KeySetFile:
    """A key set that may grow while it is in use. Asking again costs a look at the file's time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._keys: KeySet | None = None

    def read(self) -> KeySet:
        """The set as it is now. One that is not an extension of what was in use is refused, and sealing stops."""
        found = self._path.stat() if self._path.exists() else None
        stamp = None if found is None else (found.st_mtime_ns, found.st_ino)
        if self._keys is None or stamp != self._stamp:
            read = read_key_set(self._path)
            if self._keys is not None and not _extends(read, self._keys):
                raise CustodyError(f"the key set in use was replaced by one that does not extend it: {self._path}")
            self._keys, self._stamp = read, stamp
        return self._keys


def _extends(new: KeySet, old: KeySet) -> bool:
    """Whether every key of the old set stands in the new one, from the same moment and introduced by the same."""
    fixed = {"key_id", "public_key", "effective_from", "introduced_by", "introduction"}
    before = [key.model_dump(include=fixed) for key in old.keys]
    return [key.model_dump(include=fixed) for key in new.keys[: len(before)]] == before


def read_document(path: Path) -> KeySetDocument:
    """The same as it stands in the file, with its version."""
    if not path.is_file():
        raise CatalogError([Problem(str(path), 1, 1, "there is no key set: `tachograph keys create` makes one")])
    documents, problems = read_file(path)
    if problems:
        raise CatalogError(problems)
    found = Catalog(documents).key_document(KEY_SET_ID)
    if found is None:
        raise CatalogError([Problem(str(path), 1, 1, f"there is no key set with the id {KEY_SET_ID} here")])
    return found


def write_key_set(path: Path, keys: tuple[KeyEntry, ...], version: str = _FIRST_VERSION) -> None:
    """Write a key set, as one step. JSON is YAML, and has one spelling."""
    document = KeySetDocument(kind="key_set", id=KEY_SET_ID, version=version, keys=keys)
    text = json.dumps(document.model_dump(mode="json", exclude_none=True), indent=2) + "\n"
    draft = path.with_name(f".{path.name}.new")
    draft.write_text("# Public keys that may seal. Publish it: verifying needs nothing else.\n" + text)
    os.replace(draft, path)  # noqa: PTH105 - the atomic rename is the point


def create_keys(settings: Settings, *, key_id: str | None = None, now: datetime | None = None) -> bool:
    """Make a first key and its set where there is neither. Returns whether it did.

    The key counts from the oldest event that the topic can still hold: proposals wait there for their first sealer.
    """
    key_file, key_set = key_file_of(settings), key_set_of(settings)
    if key_file.exists() and key_set.exists():
        return False
    if key_set.exists():
        raise CustodyError(f"there is a key set and no private key: bring back {key_file}, or begin a new set")
    for path in (key_file, key_set):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    moment = (now or datetime.now(UTC)).replace(microsecond=0)
    name = key_id or f"local-{moment:%Y%m%dT%H%M%SZ}"
    made = KeyFile.load(key_file) if key_file.exists() else KeyFile.create(key_file, name)
    name = made.key_ids[0]  # the one a start that was cut short had made already, if so
    first = moment - timedelta(milliseconds=EVENTS.retention_ms)
    write_key_set(key_set, (KeyEntry(key_id=name, public_key=made.public(name), effective_from=first),))
    return True
