"""A time-stamping authority: it signs that it saw a hash at a moment. https://www.rfc-editor.org/rfc/rfc3161."""

import hashlib
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
from cryptography import x509

from tachograph.processors.sealing.anchors.anchor import Receipt
from tachograph.processors.sealing.errors import AnchorError
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.proofs.heads import Heads

MAX_TOKEN_BYTES: Final = 64 * 1024
"""Largest answer that is kept; with two certificates one has about 5 KB."""


class Rfc3161Anchor:
    """Asks for a time stamp of every note. The authority gets a hash, never the note."""

    kind = "rfc3161"

    def __init__(self, url: str, *, root: Path | None = None, timeout_s: float = 10.0) -> None:
        try:
            import rfc3161_client  # noqa: PLC0415 - an extra
        except ImportError:
            raise ConfigError("time stamps need the extra `anchor`: pip install 'tachograph[anchor]'") from None
        self._client: Any = rfc3161_client
        self._url = url
        self._name = urlsplit(url).netloc
        self._root = None if root is None else _certificate(root)
        self._timeout_s = timeout_s

    def anchor(self, heads: Heads, note: str) -> Receipt:  # noqa: ARG002 - the seam's signature
        """Get a token for one note, checked: its hash, its nonce and, with a root, its signature."""
        digest = note.encode()
        request = (
            self._client.TimestampRequestBuilder()
            .data(digest)
            .hash_algorithm(self._client.HashAlgorithm.SHA256)
            .nonce(nonce=True)
            .cert_request(cert_request=True)
            .build()
        )
        try:
            answered = httpx.post(
                self._url,
                content=request.as_bytes(),
                headers={"content-type": "application/timestamp-query"},
                timeout=self._timeout_s,
            )
            answered.raise_for_status()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise AnchorError(
                f"the time-stamping authority {self._name} did not answer ({type(error).__name__})"
            ) from None
        token = answered.content
        if len(token) > MAX_TOKEN_BYTES:
            raise AnchorError(f"the time-stamping authority {self._name} gave something too large to be a token")
        self._check(request, token, digest)
        return Receipt(self.kind, self._name, token)

    def _check(self, request: Any, token: bytes, message: bytes) -> None:
        try:
            response = self._client.decode_timestamp_response(token)
            if response.status != self._client.PKIStatus.GRANTED:
                raise AnchorError(f"the time-stamping authority {self._name} refused")
            info = response.tst_info
            if info.message_imprint.message != hashlib.sha256(message).digest() or info.nonce != request.nonce:
                raise AnchorError(f"the time stamp of {self._name} is not of this note")
            if self._root is not None:
                verifier = self._client.VerifierBuilder.from_request(request).add_root_certificate(self._root).build()
                verifier.verify_message(response, message)
        except (ValueError, self._client.VerificationError) as error:
            raise AnchorError(f"the time stamp of {self._name} does not verify ({type(error).__name__})") from None


def _certificate(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError):
        raise ConfigError(f"anchors.rfc3161_root is no certificate in PEM: {path}") from None
