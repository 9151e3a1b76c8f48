"""Where private keys are kept. A file that only its owner can read; a KMS or a signing process fits the same seam."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tachograph.processors.sealing.errors import CustodyError
from tachograph.schemas.proofs.encoding import from_base64, to_base64
from tachograph.schemas.proofs.errors import NoteError
from tachograph.schemas.proofs.keys import KeyEntry

MAX_BYTES: Final = 64 * 1024
"""Largest key file; a larger one is something else."""


class Signer(Protocol):
    """Signs with a key that it need not show."""

    def public(self, key_id: str) -> str:
        """The public half, base64; `CustodyError` if the key is not held."""

    def sign(self, key_id: str, message: bytes) -> bytes:
        """An Ed25519 signature; deterministic."""


class KeyFile:
    """Private keys in one file: a JSON object of key id and seed. Its repr shows none."""

    def __init__(self, seeds: Mapping[str, bytes]) -> None:
        self._keys = {key_id: Ed25519PrivateKey.from_private_bytes(seed) for key_id, seed in seeds.items()}
        self._public = {key_id: to_base64(key.public_key().public_bytes_raw()) for key_id, key in self._keys.items()}

    def __repr__(self) -> str:
        return f"KeyFile({sorted(self._keys)})"

    @property
    def key_ids(self) -> tuple[str, ...]:
        """Keys that are held, in the order of the file."""
        return tuple(self._keys)

    @classmethod
    def load(cls, path: Path) -> "KeyFile":
        """Read a file that belongs to this user and that nobody else can open."""
        try:
            # Opened once and judged by what was opened: a name can change hands in between.
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise CustodyError(f"the key file cannot be opened ({error.strerror}): {path}") from None
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise CustodyError(f"the key file must be a file of this user: {path}")
            if stat.S_IMODE(found.st_mode) != stat.S_IRUSR | stat.S_IWUSR:
                raise CustodyError(f"others may open the key file: chmod 600 {path}")
            data = os.read(descriptor, MAX_BYTES)
        finally:
            os.close(descriptor)
        try:
            return cls({key_id: from_base64(seed) for key_id, seed in json.loads(data).items()})
        except (ValueError, AttributeError, NoteError):
            pass
        # Raised outside of the handler: a decoder's error holds the text, and here the text is the key.
        raise CustodyError(f"the key file does not hold key ids and seeds of 32 bytes in base64: {path}")

    @classmethod
    def create(cls, path: Path, key_id: str) -> "KeyFile":
        """Make a new key in a new file. One that is there is never overwritten."""
        seeds = {key_id: Ed25519PrivateKey.generate().private_bytes_raw()}
        _write(path, seeds)
        return cls(seeds)

    @staticmethod
    def add(path: Path, key_id: str) -> "KeyFile":
        """Make a further key in a file that is there. Both halves of the change are on disk, or neither."""
        held = KeyFile.load(path)
        if key_id in held.key_ids:
            raise CustodyError(f"the key file holds {key_id} already: give the new key another id")
        seeds = held._seeds()  # noqa: SLF001 - its own class
        seeds[key_id] = Ed25519PrivateKey.generate().private_bytes_raw()
        draft = path.with_name(f".{path.name}.new")
        draft.unlink(missing_ok=True)
        _write(draft, seeds)
        os.replace(draft, path)  # noqa: PTH105 - the atomic rename is the point
        return KeyFile(seeds)

    def _seeds(self) -> dict[str, bytes]:
        return {key_id: key.private_bytes_raw() for key_id, key in self._keys.items()}

    def public(self, key_id: str) -> str:
        """The public half, base64."""
        if key_id not in self._public:
            raise CustodyError(f"the key file does not hold {key_id}: add it, or take it out of the key set")
        return self._public[key_id]

    def sign(self, key_id: str, message: bytes) -> bytes:
        """An Ed25519 signature."""
        return self._keys[key_id].sign(message)


class WatchedKeyFile:
    """A key file that is read again when a key is asked for that it did not hold: rotation needs no restart."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held = KeyFile.load(path)

    def __repr__(self) -> str:
        return f"WatchedKeyFile({list(self._held.key_ids)})"

    def public(self, key_id: str) -> str:
        """The public half, base64."""
        if key_id not in self._held.key_ids:
            self._held = KeyFile.load(self._path)
        return self._held.public(key_id)

    def sign(self, key_id: str, message: bytes) -> bytes:
        """An Ed25519 signature."""
        return self._held.sign(key_id, message)


def _write(path: Path, seeds: Mapping[str, bytes]) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, stat.S_IRUSR | stat.S_IWUSR)
    except OSError as error:
        raise CustodyError(f"the key file cannot be created ({error.strerror}): {path}") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        json.dump({key_id: to_base64(seed) for key_id, seed in seeds.items()}, file)
        file.flush()
        os.fsync(file.fileno())


def checked_signature(signer: Signer, key: KeyEntry, message: bytes) -> bytes:
    """A signature by the key that the key set names, or none at all."""
    if signer.public(key.key_id) != key.public_key:
        raise CustodyError(f"the private key of {key.key_id} is not the other half of the one in the key set")
    return signer.sign(key.key_id, message)
