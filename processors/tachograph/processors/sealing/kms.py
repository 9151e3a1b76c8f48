"""A key management service as custodian: what it must offer, and how its signatures are let through."""

from collections.abc import Mapping
from typing import Protocol

from tachograph.processors.sealing.errors import CustodyError
from tachograph.schemas.proofs.encoding import to_base64
from tachograph.schemas.proofs.note import NoteKey


class KeyManagementService(Protocol):
    """What a service must do: two calls, both with its own name for a key. Write a class; no base class is needed."""

    def public_key(self, key: str) -> bytes:
        """The 32 bytes of an Ed25519 public key."""

    def sign(self, key: str, message: bytes) -> bytes:
        """An Ed25519 signature (pure, not pre-hashed) over the message itself."""


class KmsSigner:
    """Signs with keys of a service. A signature that does not verify here never goes out."""

    def __init__(self, service: KeyManagementService, names: Mapping[str, str]) -> None:
        self._service = service
        self._names = dict(names)
        """The service's name for each key id."""
        self._known: dict[str, NoteKey] = {}

    def __repr__(self) -> str:
        return f"KmsSigner({sorted(self._names)})"

    def public(self, key_id: str) -> str:
        """The public half, base64."""
        return to_base64(self._key(key_id).public)

    def sign(self, key_id: str, message: bytes) -> bytes:
        """An Ed25519 signature."""
        key = self._key(key_id)
        try:
            signature = self._service.sign(self._names[key_id], message)
        except Exception as error:  # noqa: BLE001 - a service's client raises what it likes
            raise CustodyError(f"the key service did not sign with {key_id} ({type(error).__name__})") from None
        if not key.verifies(signature, message):
            raise CustodyError(f"the key service's signature with {key_id} does not verify: is it pure Ed25519?")
        return signature

    def _key(self, key_id: str) -> NoteKey:
        if key_id not in self._names:
            raise CustodyError(f"the key service has no name for {key_id}: map it, or take it out of the key set")
        if key_id not in self._known:
            try:
                public = self._service.public_key(self._names[key_id])
            except Exception as error:  # noqa: BLE001 - as above
                raise CustodyError(f"the key service did not show {key_id} ({type(error).__name__})") from None
            self._known[key_id] = NoteKey("-", public)
        return self._known[key_id]
