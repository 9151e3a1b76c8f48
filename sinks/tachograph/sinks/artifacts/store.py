"""The artifact store: content under keyed names, sealed per subject, checked on every read, removed on purpose only.

An erased subject stays erased: its key's place holds a tombstone, and nothing can be stored for it again.
"""

import hashlib
import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any, Final

from tachograph.schemas.enums import RetentionClass
from tachograph.schemas.settings import ArtifactSettings, Settings
from tachograph.sinks.artifacts.entry import Content, Entry, State, is_due
from tachograph.sinks.artifacts.errors import (
    ArtifactDamagedError,
    ArtifactErasedError,
    ArtifactExpiredError,
    ArtifactMissingError,
)
from tachograph.sinks.artifacts.keys import KEY_BYTES, FolderKeys, TenantKey, TenantKeys
from tachograph.sinks.artifacts.objects import Objects, opened
from tachograph.sinks.artifacts.paths import blob_path, entry_path, subject_path, tenant_folder
from tachograph.sinks.artifacts.sealed import SealingKey

__all__ = ["ArtifactStore", "Erasure", "open_store"]

_ERASED: Final = "erased"


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """What an erasure did: everything that the record of it has to say."""

    tenant_id: str
    subject_name: str
    """Keyed hash of the subject. The record names nobody."""
    key_id: str
    """Of the data key that was destroyed; empty if the subject had none."""
    erased_at: int
    reason: str
    artifacts: tuple[Entry, ...]
    """Tombstones of the blobs that were removed, by id."""
    recorded: bool = False
    """Whether the record of it is kept: see :meth:`ArtifactStore.recorded`."""


class ArtifactStore:
    """Artifacts of all tenants in one object store."""

    def __init__(self, objects: Objects, keys: TenantKeys) -> None:
        self._objects = objects
        self._keys = keys

    async def put(
        self,
        data: bytes,
        *,
        tenant_id: str,
        subject: str,
        created_at: int,
        retention: RetentionClass = RetentionClass.SHORT,
        content: Content = Content.PLAIN,
        record: dict[str, Any] | None = None,
    ) -> Entry:
        """Store content; on return it can be read. The same content again gives the entry that is there.

        Also if its bytes were removed meanwhile: look at ``state``. Raises ArtifactErasedError for an erased subject.
        """
        key = self._keys.of(tenant_id)
        subject_name = key.subject_name(subject)
        artifact_id = key.artifact_name(subject_name, data)
        sealing = await self._sealing_key(key, tenant_id, subject_name, create=True)
        known = await self._objects.get(entry_path(tenant_id, artifact_id))
        if known is not None:
            return Entry.from_bytes(known)
        sealed = sealing.seal(data, artifact_id)
        entry = Entry(
            artifact_id=artifact_id,
            tenant_id=tenant_id,
            subject_name=subject_name,
            path=blob_path(tenant_id, artifact_id),
            hash=hashlib.sha256(sealed).hexdigest(),
            size_bytes=len(sealed),
            created_at=created_at,
            retention=retention,
            content=content,
            record=record or {},
        )
        # The entry comes last: what it names is there, and a writer that died in between leaves bytes that its
        # successor writes again, alike.
        await self._objects.put(entry.path, sealed)
        await self._objects.put(entry_path(tenant_id, artifact_id), entry.to_bytes())
        return entry

    async def entry(self, tenant_id: str, artifact_id: str) -> Entry:
        """What is known of an artifact. Raises ArtifactMissingError."""
        found = await self._objects.get(entry_path(tenant_id, artifact_id))
        if found is None:
            raise ArtifactMissingError(
                f"tenant {tenant_id} has no artifact of that id; `tachograph artifacts ls` lists what there is"
            )
        return Entry.from_bytes(found)

    async def entries(self, tenant_id: str | None = None) -> AsyncIterator[Entry]:
        """Every entry, of one tenant or of all, by path."""
        folder = "tenants" if tenant_id is None else tenant_folder(tenant_id)
        for path in sorted(path for path in self._objects.paths(folder) if "/entries/" in path):
            found = await self._objects.get(path)
            if found is not None:
                yield Entry.from_bytes(found)

    async def sealed(self, entry: Entry) -> bytes:
        """The sealed bytes, checked against the entry's hash. Needs no key. Raises ArtifactGoneError or damaged."""
        if entry.state is State.ERASED:
            raise ArtifactErasedError(f"the artifact was erased ({entry.reason}); nothing can bring it back")
        if entry.state is not State.STORED:
            raise ArtifactExpiredError("the artifact's bytes were removed by retention; its entry remains")
        sealed = await self._objects.get(blob_path(entry.tenant_id, entry.artifact_id))
        if sealed is None:
            raise ArtifactDamagedError("the artifact's bytes are gone and nobody removed them: restore from a backup")
        if hashlib.sha256(sealed).hexdigest() != entry.hash:
            raise ArtifactDamagedError("the artifact's bytes are not those that were written: restore from a backup")
        return sealed

    async def get(self, tenant_id: str, artifact_id: str) -> bytes:
        """The content, checked twice: the hash of the sealed bytes, and the seal. Raises an ArtifactStoreError."""
        entry = await self.entry(tenant_id, artifact_id)
        sealed = await self.sealed(entry)
        key = self._keys.of(tenant_id)
        sealing = await self._sealing_key(key, tenant_id, entry.subject_name, create=False)
        data = sealing.open(sealed, artifact_id)
        if key.artifact_name(entry.subject_name, data) != artifact_id:
            raise ArtifactDamagedError("the content does not give the artifact's name: somebody put it there")
        return data

    async def due(self, now: int, settings: ArtifactSettings) -> list[Entry]:
        """Entries whose bytes retention wants removed."""
        return [entry async for entry in self.entries() if is_due(entry, now, settings)]

    async def protect(self, entry: Entry) -> bool:
        """Keep the bytes as long as those of class ``protected``. False if they are, or are gone."""
        entry = await self.entry(entry.tenant_id, entry.artifact_id)
        if entry.state is not State.STORED or entry.retention is RetentionClass.PROTECTED:
            return False
        kept = replace(entry, retention=RetentionClass.PROTECTED)
        await self._objects.put(entry_path(entry.tenant_id, entry.artifact_id), kept.to_bytes())
        return True

    async def expire(self, entry: Entry, now: int) -> Entry:
        """Remove the bytes. What is returned is not final until :meth:`expired` is told that the removal is on record.

        A collector that dies in between finds the entry again, with the same time.
        """
        if entry.state is State.STORED:
            entry = replace(entry, state=State.EXPIRING, deleted_at=now, reason=f"retention {entry.retention.value}")
            await self._objects.put(entry_path(entry.tenant_id, entry.artifact_id), entry.to_bytes())
        await self._objects.delete(blob_path(entry.tenant_id, entry.artifact_id))
        return entry

    async def expired(self, entry: Entry) -> None:
        """The removal is on record: the entry is a tombstone from now on."""
        final = replace(entry, state=State.EXPIRED)
        await self._objects.put(entry_path(entry.tenant_id, entry.artifact_id), final.to_bytes())

    async def erase(self, tenant_id: str, subject_name: str, *, now: int, reason: str) -> Erasure:
        """Destroy a subject's key, then its blobs, and leave tombstones. Again is harmless and reports the same."""
        path = subject_path(tenant_id, subject_name)
        held = await self._objects.get(path)
        known = {} if held is None else json.loads(held)
        if known.get("state") != _ERASED:
            known = {"state": _ERASED, "key_id": known.get("key_id", ""), "erased_at": now, "reason": reason}
            await self._objects.put(path, json.dumps(known, sort_keys=True).encode())
        tombstones = [
            await self._bury(entry, known["erased_at"], known["reason"])
            async for entry in self.entries(tenant_id)
            if entry.subject_name == subject_name
        ]
        return Erasure(
            tenant_id=tenant_id,
            subject_name=subject_name,
            key_id=known["key_id"],
            erased_at=known["erased_at"],
            reason=known["reason"],
            artifacts=tuple(tombstones),
            recorded=known.get("recorded", False),
        )

    async def recorded(self, erasure: Erasure) -> None:
        """The record of an erasure is kept: whoever erases the subject again need not make another."""
        path = subject_path(erasure.tenant_id, erasure.subject_name)
        held = await self._objects.get(path)
        if held is not None:
            await self._objects.put(path, json.dumps(json.loads(held) | {"recorded": True}, sort_keys=True).encode())

    def subject_name(self, tenant_id: str, subject: str) -> str:
        """Name under which a subject is kept. Raises NoKeyError."""
        return self._keys.of(tenant_id).subject_name(subject)

    async def _bury(self, entry: Entry, at: int, reason: str) -> Entry:
        await self._objects.delete(blob_path(entry.tenant_id, entry.artifact_id))
        if entry.state is not State.ERASED:
            entry = replace(entry, state=State.ERASED, deleted_at=at, reason=reason)
            await self._objects.put(entry_path(entry.tenant_id, entry.artifact_id), entry.to_bytes())
        return entry

    async def _sealing_key(self, key: TenantKey, tenant_id: str, subject_name: str, *, create: bool) -> SealingKey:
        path = subject_path(tenant_id, subject_name)
        held = await self._objects.get(path)
        if held is None and create:
            data_key = secrets.token_bytes(KEY_BYTES)
            wrapped = {
                "state": "held",
                "key_id": SealingKey(data_key).key_id.hex(),
                "wrapped": key.wrap(data_key, subject_name).hex(),
                "wrapped_by": key.key_id,
            }
            # Of two writers that are first at once one wins; both seal with what is there afterwards.
            await self._objects.put_new(path, json.dumps(wrapped, sort_keys=True).encode())
            held = await self._objects.get(path)
        if held is None:
            raise ArtifactDamagedError("the subject's key is gone and nobody erased it: restore from a backup")
        known = json.loads(held)
        if known.get("state") == _ERASED:
            raise ArtifactErasedError("the subject was erased: its key is destroyed, and it can have no new artifacts")
        return SealingKey(key.unwrap(bytes.fromhex(known["wrapped"]), subject_name))


def open_store(settings: Settings, *, create_keys: bool = False) -> ArtifactStore:
    """The store that the settings name. ``create_keys`` makes the key of a tenant that has none: writers may."""
    folder = settings.artifacts.key_folder or settings.home / "keys" / "tenants"
    objects = opened(settings.artifacts.url, settings.home / "artifacts")
    return ArtifactStore(objects, FolderKeys(folder, create=create_keys))
