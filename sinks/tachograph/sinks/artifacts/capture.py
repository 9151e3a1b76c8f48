"""Captures as artifacts: the messages of one capture in one blob, as the agent's process encrypted them.

A blob is ``TGS1``, the length of the header (4 bytes, big-endian), the header as JSON (trace, capture, kind, key id,
SHA-256 of the plain bytes, size of each part), then the parts. A part is ``TGC1``, a 12-byte nonce, then AES-256-GCM
bound to trace, capture, kind and place. Nothing here needs the key but :func:`opened_capture`.
"""

import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tachograph.sinks.artifacts.errors import ArtifactDamagedError, WrongKeyError

__all__ = ["CaptureBlob", "capture_key_id", "opened_capture", "packed", "unpacked"]

_BLOB: Final = b"TGS1"
_PART: Final = b"TGC1"
_NONCE_BYTES: Final = 12
_LENGTH: Final = struct.Struct(">I")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureBlob:
    """One capture, still encrypted."""

    trace_id: str
    capture_id: str
    kind: str
    key_id: str
    sha256: str
    """Of the plain bytes."""
    parts: tuple[bytes, ...]


def packed(capture: CaptureBlob) -> bytes:
    """One blob. The same capture always gives the same bytes."""
    header = json.dumps(
        {
            "capture_id": capture.capture_id,
            "key_id": capture.key_id,
            "kind": capture.kind,
            "sha256": capture.sha256,
            "sizes": [len(part) for part in capture.parts],
            "trace_id": capture.trace_id,
        },
        sort_keys=True,
    ).encode()
    return b"".join((_BLOB, _LENGTH.pack(len(header)), header, *capture.parts))


def unpacked(blob: bytes) -> CaptureBlob:
    """The capture in a blob. Raises ArtifactDamagedError."""
    try:
        start = len(_BLOB) + _LENGTH.size
        (length,) = _LENGTH.unpack_from(blob, len(_BLOB))
        header = json.loads(blob[start : start + length])
        parts = _split(blob[start + length :], header.pop("sizes"))
        capture = CaptureBlob(parts=parts, **header)
    except (ValueError, TypeError, KeyError, struct.error):
        raise ArtifactDamagedError("the artifact does not hold a capture") from None
    if not blob.startswith(_BLOB):
        raise ArtifactDamagedError("the artifact does not hold a capture")
    return capture


def _split(body: bytes, sizes: Sequence[int]) -> tuple[bytes, ...]:
    if sum(sizes) != len(body):
        raise ValueError
    parts, start = [], 0
    for size in sizes:
        parts.append(body[start : start + size])
        start += size
    return tuple(parts)


def opened_capture(capture: CaptureBlob, key: bytes) -> bytes:
    """The plain bytes, checked against their hash. Raises WrongKeyError or ArtifactDamagedError."""
    if capture_key_id(key) != capture.key_id:
        raise WrongKeyError(
            f"the capture was encrypted with the key {capture.key_id}, and this is {capture_key_id(key)}: "
            "name the key file of the agent that recorded it (--capture-key)"
        )
    cipher, count = AESGCM(key), len(capture.parts)
    try:
        plain = b"".join(
            cipher.decrypt(part[4 : 4 + _NONCE_BYTES], part[4 + _NONCE_BYTES :], _bound(capture, place, count))
            for place, part in enumerate(capture.parts)
        )
    except (InvalidTag, ValueError):
        raise ArtifactDamagedError("the capture was changed after it was encrypted") from None
    if any(not part.startswith(_PART) for part in capture.parts) or hashlib.sha256(plain).hexdigest() != capture.sha256:
        raise ArtifactDamagedError("the capture's bytes are not those its recorder named")
    return plain


def capture_key_id(key: bytes) -> str:
    """Id of a capture key, as recorders write it into headers."""
    return hashlib.sha256(b"tachograph capture key id\x00" + key).hexdigest()[:16]


def _bound(capture: CaptureBlob, place: int, count: int) -> bytes:
    return f"{capture.trace_id}|{capture.capture_id}|{capture.kind}|{place}/{count}".encode()
