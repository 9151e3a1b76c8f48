"""Keys: one per tenant, in a file; one per subject, at random, wrapped by the tenant's and kept in the store.

The tenant's key never encrypts content. Destroying the wrapped key of a subject makes everything of that subject
unreadable, wherever copies of the blobs are.
"""

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import quote

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tachograph.sinks.artifacts.errors import ArtifactStoreError, NoKeyError, WrongKeyError

__all__ = ["KEY_BYTES", "FolderKeys", "TenantKey", "TenantKeys", "read_key_file"]

KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_ID_BYTES: Final = 8


class TenantKey:
    """Wraps the data keys of a tenant's subjects, and names things. Shows nothing of itself but its id."""

    __slots__ = ("_cipher", "_names", "_subjects", "key_id")

    def __init__(self, master: bytes) -> None:
        if len(master) != KEY_BYTES:
            raise WrongKeyError(f"a tenant's key has {KEY_BYTES} bytes; this one has not")
        self.key_id: Final = _derived(master, b"key id")[:_ID_BYTES].hex()
        self._cipher: Final = AESGCM(_derived(master, b"wrapping"))
        self._names: Final = _derived(master, b"artifact names")
        self._subjects: Final = _derived(master, b"subject names")

    def __repr__(self) -> str:
        return f"TenantKey({self.key_id})"

    def subject_name(self, subject: str) -> str:
        """Name of a subject: a keyed hash, so that the store's listing does not tell who is in it."""
        return hmac.new(self._subjects, subject.encode(), hashlib.sha256).hexdigest()

    def artifact_name(self, subject_name: str, data: bytes) -> str:
        """Name of content: a keyed hash. The subject is in it, so that two subjects never share a blob."""
        return hmac.new(self._names, subject_name.encode() + b"\0" + data, hashlib.sha256).hexdigest()

    def wrap(self, data_key: bytes, subject_name: str) -> bytes:
        """A data key, encrypted and bound to its subject."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, data_key, subject_name.encode())

    def unwrap(self, wrapped: bytes, subject_name: str) -> bytes:
        """The data key. Raises WrongKeyError."""
        try:
            return self._cipher.decrypt(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], subject_name.encode())
        except (InvalidTag, ValueError):
            raise WrongKeyError(
                f"the tenant's key {self.key_id} does not open this subject's key, which another one wrapped: "
                "bring the key file that was used when it was stored"
            ) from None


class TenantKeys(Protocol):
    """Where tenants' keys come from."""

    def of(self, tenant_id: str) -> TenantKey:
        """The tenant's key. Raises NoKeyError."""


class FolderKeys:
    """Tenants' keys in a folder, a file of 64 hexadecimal digits each. ``create`` makes a key that is not there."""

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        self._folder = folder
        self._create = create
        self._known: dict[str, TenantKey] = {}

    def of(self, tenant_id: str) -> TenantKey:
        """The tenant's key. Raises NoKeyError where there is none and none may be made."""
        if tenant_id not in self._known:
            path = self._folder / f"{quote(tenant_id, safe='').replace('.', '%2E')}.key"
            if self._create:
                _make(path)
            self._known[tenant_id] = TenantKey(read_key_file(path, "the tenant's artifact key"))
        return self._known[tenant_id]


def read_key_file(path: Path, what: str) -> bytes:
    """The bytes of a file of 64 hexadecimal digits that only its owner may read. ``what`` names it in errors."""
    try:
        with path.open("rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise ArtifactStoreError(f"{what} can be read by others: set its mode to 0600 and consider it known")
            key = bytes.fromhex(file.read(4 * KEY_BYTES).decode("ascii").strip())
    except FileNotFoundError:
        raise NoKeyError(f"{what} is not at {path}: bring the file here, or say where it is") from None
    except (OSError, ValueError) as error:
        raise NoKeyError(f"{what} at {path} cannot be read ({type(error).__name__})") from None
    if len(key) != KEY_BYTES:
        raise NoKeyError(f"{what} at {path} is not {2 * KEY_BYTES} hexadecimal digits")
    return key


def _make(path: Path) -> None:
    """Write the whole key first and give it its name then. Of several processes that start at once one wins."""
    if path.exists():
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(KEY_BYTES) + "\n")
                file.flush()
                os.fsync(file.fileno())
            if not path.exists():
                os.link(draft, path)
        except FileExistsError:
            return  # another process was first, and its key counts
        finally:
            draft.unlink()
    except OSError as error:
        raise NoKeyError(f"a tenant's key cannot be made at {path} ({type(error).__name__})") from None


def _derived(master: bytes, purpose: bytes) -> bytes:
    return hmac.new(master, b"tachograph tenant key v1: " + purpose, hashlib.sha256).digest()
