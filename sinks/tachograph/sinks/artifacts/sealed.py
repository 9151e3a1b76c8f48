"""The form of an artifact at rest.

=========  =====  ==========================================================================
offset     bytes  what
=========  =====  ==========================================================================
0          1      version: 0x01 sealed by an agent's process, 0x02 sealed by this store
1          8      key id: says which key opens it, and nothing about the key
9          12     nonce
21         n+16   AES-256-GCM of the content with its tag; bytes 0 to 8 are authenticated with it
=========  =====  ==========================================================================

Both versions are alike but for what the keys are derived from: an agent's master key, or a subject's data key. In
version 2 the artifact's id is authenticated too, so that a blob under another name does not open. The nonce is derived
from the content, so the same content gives the same bytes, and a repeated copy changes nothing.
"""

import hashlib
import hmac
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tachograph.sinks.artifacts.errors import ArtifactDamagedError, WrongKeyError

__all__ = ["AGENT_VERSION", "STORE_VERSION", "SealingKey"]

AGENT_VERSION: Final = 1
"""First byte of an artifact that an agent's process sealed."""

STORE_VERSION: Final = 2
"""First byte of an artifact of this store."""

_PURPOSE: Final = {AGENT_VERSION: b"tachograph artifact v1: ", STORE_VERSION: b"tachograph artifact v2: "}
_NONCE_BYTES: Final = 12
_HEADER: Final = 9
_BODY: Final = _HEADER + _NONCE_BYTES


class SealingKey:
    """Seals and opens artifacts of one version. Shows nothing of itself but its id."""

    __slots__ = ("_cipher", "_nonces", "_version", "key_id")

    def __init__(self, key: bytes, version: int = STORE_VERSION) -> None:
        self._version: Final = version
        self.key_id: Final = self._derived(key, b"key id")[: _HEADER - 1]
        self._cipher: Final = AESGCM(self._derived(key, b"encryption"))
        self._nonces: Final = self._derived(key, b"nonces")

    def __repr__(self) -> str:
        return f"SealingKey({self.key_id.hex()})"

    def seal(self, data: bytes, artifact_id: str) -> bytes:
        """The content in its form at rest."""
        header = bytes([self._version]) + self.key_id
        nonce = hmac.new(self._nonces, data, hashlib.sha256).digest()[:_NONCE_BYTES]
        return header + nonce + self._cipher.encrypt(nonce, data, self._bound(header, artifact_id))

    def open(self, sealed: bytes, artifact_id: str) -> bytes:
        """The content. Raises WrongKeyError or ArtifactDamagedError."""
        if len(sealed) < _BODY or sealed[0] != self._version:
            raise ArtifactDamagedError("the stored bytes are not a sealed artifact of this kind")
        header = sealed[:_HEADER]
        if header[1:] != self.key_id:
            raise WrongKeyError(
                f"the artifact was sealed with the key {header[1:].hex()}, and this is {self.key_id.hex()}: "
                "name the file of the right key"
            )
        try:
            return self._cipher.decrypt(sealed[_HEADER:_BODY], sealed[_BODY:], self._bound(header, artifact_id))
        except InvalidTag:
            raise ArtifactDamagedError(
                "the artifact was changed after it was sealed, or lies under another name"
            ) from None

    def _bound(self, header: bytes, artifact_id: str) -> bytes:
        return header + artifact_id.encode() if self._version == STORE_VERSION else header

    def _derived(self, key: bytes, purpose: bytes) -> bytes:
        return hmac.new(key, _PURPOSE[self._version] + purpose, hashlib.sha256).digest()
