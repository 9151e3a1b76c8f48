"""Keys that may seal, each for a time; each but the first introduced by the one before it.

Who trusts the first key of a set can follow the signatures to the last. The window of a key ends where the next one's
begins, and that moment is signed by the outgoing key: nobody can lengthen the life of a retired key afterwards.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from tachograph.schemas.canonical import sealed_bytes
from tachograph.schemas.errors import TachographError
from tachograph.schemas.models.base import Frozen, Timestamp
from tachograph.schemas.proofs.encoding import from_base64, to_base64
from tachograph.schemas.proofs.errors import NoteError
from tachograph.schemas.proofs.note import NoteKey, Sign

KEY_CONTEXT: Final = b"tachograph.key.v1\x00"
"""Precedes what an outgoing key signs of the next."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER: Final = 1 << 62
"""A moment after every other."""


class KeySetError(TachographError):
    """A set of keys whose windows or introductions do not hold. Stop: nothing may be sealed with it."""


class KeyNotEffectiveError(TachographError):
    """No key may sign at that moment. Stop: rotate the key, or wait for it to become effective."""


class Basis(StrEnum):
    """Why a signature by a key counts, at the moment of sealing."""

    EFFECTIVE = "key_effective"
    """The key was and is effective."""
    RETIRED_SINCE = "key_retired_since"
    """Effective then, retired since. The moment is the broker's word; an anchored checkpoint bears it out."""
    REVOKED_SINCE = "key_revoked_since"
    """Effective then, revoked since. Only a checkpoint anchored before the revocation shows that it is that old."""


def _public(value: str) -> str:
    try:
        if len(from_base64(value)) == 32:  # noqa: PLR2004 - an Ed25519 key
            return value
    except NoteError:
        pass
    raise ValueError("a public key is 32 bytes in base64")


class KeyEntry(Frozen):
    """A public key and the time for which it counts."""

    key_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._/-]{1,128}$")]
    public_key: Annotated[str, AfterValidator(_public)]
    """Ed25519, base64."""
    effective_from: Timestamp
    effective_until: Timestamp | None = None
    """First moment at which it no longer counts; where the next key begins."""
    revoked_at: Timestamp | None = None
    """Moment from which nothing it signs counts, whatever its window says."""
    introduced_by: str | None = None
    """Key before it; empty for the first."""
    introduction: str | None = None
    """That key's signature over this one, base64."""

    def introduced_bytes(self) -> bytes:
        """What the outgoing key signs."""
        return KEY_CONTEXT + sealed_bytes(
            {
                "key_id": self.key_id,
                "public_key": self.public_key,
                "effective_from": self.effective_from.isoformat(),
                "introduced_by": self.introduced_by,
            }
        )

    def note_key(self, name: str) -> NoteKey:
        """The key as a signer of notes under a name."""
        return NoteKey(name, from_base64(self.public_key))


class KeySet:
    """Keys in the order of their windows."""

    def __init__(self, keys: Sequence[KeyEntry]) -> None:
        self.keys = tuple(keys)
        self._by_id = {key.key_id: key for key in self.keys}
        self._windows = {key.key_id: _window(key) for key in self.keys}
        if not self.keys or len(self._by_id) != len(self.keys):
            raise KeySetError("a set of keys has at least one key, and no key id twice")
        if len({key.public_key for key in self.keys}) != len(self.keys):
            raise KeySetError("two key ids name one public key")
        self._verifiers = {key.key_id: key.note_key("-") for key in self.keys}
        for place, key in enumerate(self.keys):
            self._check(key, self.keys[place - 1] if place else None)
        if any(key.effective_until is None for key in self.keys[:-1]):
            raise KeySetError("only the last key of a set has an open window")

    def get(self, key_id: str) -> KeyEntry | None:
        """A key by its id, whatever has become of it."""
        return self._by_id.get(key_id)

    def verifier(self, key_id: str) -> NoteKey:
        """What checks the signatures of a key of this set; made once."""
        return self._verifiers[key_id]

    def at(self, moment_us: int) -> KeyEntry:
        """The key that signs at a moment (microseconds since 1970)."""
        for key in reversed(self.keys):
            first, end = self._windows[key.key_id]
            if first <= moment_us < end:
                return key
        raise KeyNotEffectiveError(
            "no signing key is effective at the time of this proposal: add a key to the key set, introduced by the last"
        )

    def basis(self, key: KeyEntry, moment_us: int) -> Basis | None:
        """On what a signature of that moment counts; None if it does not."""
        first, end = _window(key)
        if not first <= moment_us < end:
            return None
        if key.revoked_at is not None:
            return Basis.REVOKED_SINCE
        return Basis.EFFECTIVE if key.effective_until is None else Basis.RETIRED_SINCE

    def _check(self, key: KeyEntry, before: KeyEntry | None) -> None:
        if key.effective_until is not None and key.effective_until <= key.effective_from:
            raise KeySetError(f"the window of key {key.key_id} ends before it begins")
        if before is None:
            if key.introduced_by is not None or key.introduction is not None:
                raise KeySetError(f"key {key.key_id} is the first of its set and cannot be introduced by another")
            return
        if key.introduced_by != before.key_id or key.introduction is None:
            raise KeySetError(f"key {key.key_id} must be introduced by {before.key_id}, the key before it")
        if before.effective_until != key.effective_from:
            raise KeySetError(f"the window of key {before.key_id} must end where that of {key.key_id} begins")
        if before.revoked_at is not None and before.revoked_at <= key.effective_from:
            raise KeySetError(f"key {before.key_id} was revoked and can introduce no other: begin a new set")
        try:
            signature = from_base64(key.introduction)
        except NoteError:
            signature = b""
        if not before.note_key("-").verifies(signature, key.introduced_bytes()):
            raise KeySetError(f"the introduction of key {key.key_id} is not signed by {before.key_id}")


def rotate(keys: Sequence[KeyEntry], successor: KeyEntry, sign: Sign) -> tuple[KeyEntry, ...]:
    """The set with a successor to its last key, which signs for it and ends where the successor begins."""
    last = keys[-1].model_copy(update={"effective_until": successor.effective_from})
    named = successor.model_copy(update={"introduced_by": last.key_id, "introduction": None})
    introduced = named.model_copy(update={"introduction": to_base64(sign(named.introduced_bytes()))})
    return KeySet((*keys[:-1], last, introduced)).keys


def micros(moment: datetime) -> int:
    """Microseconds since 1970, exact."""
    delta = moment - EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def _window(key: KeyEntry) -> tuple[int, int]:
    """First moment at which a key counts, and the first at which it no longer does, in microseconds."""
    ends = [micros(end) for end in (key.effective_until, key.revoked_at) if end is not None]
    return micros(key.effective_from), min(ends, default=_NEVER)
