"""The form of an artifact at rest, which the central artifact store reads too.

=========  =====  ==========================================================================
offset     bytes  what
=========  =====  ==========================================================================
0          1      version, 0x01
1          8      key id: says which key opens it, and nothing about the key
9          12     nonce
21         n+16   AES-256-GCM of the content with its tag; bytes 0 to 8 are authenticated with it
=========  =====  ==========================================================================

The three keys in use (for encryption, names and nonces) are derived from one master key by HMAC-SHA-256. The nonce is
derived from the content, so the same content always gives the same bytes and no counter has to be kept; two different
contents share a nonce with probability 2^-96.
"""

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tachograph.producers.artifacts.errors import ArtifactError

__all__ = ["KEY_FILE", "VERSION", "ArtifactKey", "open_sealed", "seal"]

VERSION: Final = 1
"""First byte of every sealed artifact."""

KEY_FILE: Final = "artifact.key"
"""Name of the file that holds the master key: 32 bytes, mode 0600."""

_KEY_BYTES: Final = 32
_KEY_ID_BYTES: Final = 8
_NONCE_BYTES: Final = 12
_HEADER: Final = 1 + _KEY_ID_BYTES
_BODY: Final = _HEADER + _NONCE_BYTES


class ArtifactKey:
    """The master key of a folder's artifacts and what is derived from it. Shows nothing of itself but its id."""

    __slots__ = ("_cipher", "_names", "_nonces", "key_id")

    def __init__(self, master: bytes) -> None:
        if len(master) != _KEY_BYTES:
            raise ArtifactError(f"an artifact key has {_KEY_BYTES} bytes")
        self.key_id: Final = _derived(master, b"key id")[:_KEY_ID_BYTES]
        self._cipher: Final = AESGCM(_derived(master, b"encryption"))
        self._names: Final = _derived(master, b"names")
        self._nonces: Final = _derived(master, b"nonces")

    def __repr__(self) -> str:
        return f"ArtifactKey(key_id={self.key_id.hex()!r})"

    @classmethod
    def generate(cls) -> "ArtifactKey":
        """Make a key that lives as long as the process."""
        return cls(secrets.token_bytes(_KEY_BYTES))

    @classmethod
    def in_folder(cls, folder: Path) -> "ArtifactKey":
        """Read the folder's key, or make it on first use. Of several processes that start at once one wins."""
        path = folder / KEY_FILE
        try:
            if not path.exists():
                _create(folder, path)
            return cls(_read_private(path))
        except OSError as error:
            raise ArtifactError(f"the artifact key cannot be read or made: {error.strerror}") from None

    def name(self, data: bytes) -> str:
        """Return the name of content: a keyed hash, so that nobody can test a guess against the name of a file."""
        return hmac.new(self._names, data, hashlib.sha256).hexdigest()

    def encrypt(self, data: bytes, header: bytes) -> bytes:
        """Return nonce and ciphertext."""
        nonce = hmac.new(self._nonces, data, hashlib.sha256).digest()[:_NONCE_BYTES]
        return nonce + self._cipher.encrypt(nonce, data, header)

    def decrypt(self, nonce: bytes, ciphertext: bytes, header: bytes) -> bytes:
        """Return the content. Raises InvalidTag."""
        return self._cipher.decrypt(nonce, ciphertext, header)


def seal(key: ArtifactKey, data: bytes) -> bytes:
    """Return the content in its form at rest."""
    header = bytes([VERSION]) + key.key_id
    return header + key.encrypt(data, header)


def open_sealed(key: ArtifactKey, sealed: bytes) -> bytes:
    """Return the content of a sealed artifact. Raises ArtifactError if it is not whole or not for this key."""
    if len(sealed) < _BODY or sealed[0] != VERSION:
        raise ArtifactError("not a sealed artifact of a known version")
    header, nonce = sealed[:_HEADER], sealed[_HEADER:_BODY]
    if header[1:] != key.key_id:
        raise ArtifactError("the artifact was sealed with another key")
    try:
        return key.decrypt(nonce, sealed[_BODY:], header)
    except InvalidTag:
        raise ArtifactError("the artifact was changed after it was sealed") from None


def _derived(master: bytes, purpose: bytes) -> bytes:
    return hmac.new(master, b"tachograph artifact v1: " + purpose, hashlib.sha256).digest()


def _create(folder: Path, path: Path) -> None:
    """Write the whole key first and give it its name then: no process ever reads half of one."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = folder / f".{KEY_FILE}.{secrets.token_hex(8)}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            return  # another process was first, and its key counts
    finally:
        draft.unlink()


def _read_private(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise ArtifactError("the artifact key can be read by others: set its mode to 0600 and consider it known")
        return file.read(_KEY_BYTES + 1)
