"""Encrypted captures: raw prompts and tool outputs on their way to the captures topic. Nothing raw leaves the process.

A capture is one or more messages with the same capture id. A message's value is ``TGC1``, a 12-byte nonce, then
AES-256-GCM over that part's bytes; the additional data binds it to trace, capture, kind and place among the parts. The
headers name all that, the SHA-256 of the whole plain bytes, and the key by its id.
"""

import hashlib
import os
import secrets
from pathlib import Path
from typing import Final

from tachograph.producers.publishing import Message
from tachograph.schemas.enums import FaultTrigger, SnapshotKind
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.headers import Header
from tachograph.schemas.topics import CAPTURES

MAGIC: Final = b"TGC1"
KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
PART_BYTES: Final = 512 * 1024
"""Plain bytes in one message: half of what a broker takes by default."""

DEFAULT_KEY_FILE: Final = Path(".tachograph/keys/capture.key")


class CaptureKey:
    """The key that captures are encrypted with. Never shown."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ConfigError(f"a capture key has {KEY_BYTES} bytes")
        self._key = key
        self.key_id: Final = hashlib.sha256(b"tachograph capture key id\x00" + key).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"CaptureKey({self.key_id})"

    @classmethod
    def from_file(cls, path: Path = DEFAULT_KEY_FILE) -> "CaptureKey":
        """The key in a file of 64 hexadecimal digits. Where there is no file, one is made that only its owner reads."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                return cls(bytes.fromhex(path.read_text(encoding="ascii").strip()))
            key = secrets.token_bytes(KEY_BYTES)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(key.hex() + "\n")
        except (OSError, ValueError) as error:
            raise ConfigError(f"the capture key file cannot be used ({type(error).__name__})") from None
        return cls(key)

    def encrypt(self, data: bytes, bound_to: bytes) -> bytes:
        """Value of one message."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - 20 ms, needed on faults only

        nonce = secrets.token_bytes(NONCE_BYTES)
        return MAGIC + nonce + AESGCM(self._key).encrypt(nonce, data, bound_to)

    def decrypt(self, value: bytes, bound_to: bytes) -> bytes:
        """Plain bytes of one message. Raises ValueError if it was changed, or is of another key or place."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - 20 ms, needed on faults only
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - 20 ms, needed on faults only

        nonce, sealed = value[len(MAGIC) : len(MAGIC) + NONCE_BYTES], value[len(MAGIC) + NONCE_BYTES :]
        try:
            if not value.startswith(MAGIC):
                raise ValueError("not a capture")
            return AESGCM(self._key).decrypt(nonce, sealed, bound_to)
        except InvalidTag:
            raise ValueError("the capture was changed, or belongs to another key or place") from None


def bound_to(trace_id: str, capture_id: str, kind: str, part: int, parts: int) -> bytes:
    """Additional data of one part: a part moved to another place does not decrypt."""
    return f"{trace_id}|{capture_id}|{kind}|{part}/{parts}".encode()


def capture_messages(
    key: CaptureKey,
    data: bytes,
    *,
    trace_id: str,
    run_id: str,
    capture_id: str,
    kind: SnapshotKind,
    trigger: FaultTrigger,
    step_id: str | None,
    tool_use_id: str | None,
    event_id: str | None = None,
    source: bytes = b"",
) -> list[Message]:
    """The messages of one capture. ``source`` says whose it is, as the CloudEvents source of a record does."""
    parts = [data[start : start + PART_BYTES] for start in range(0, len(data), PART_BYTES)] or [b""]
    shared = [
        (Header.CAPTURE_ID.value, capture_id.encode()),
        (Header.CAPTURE_KIND.value, kind.value.encode()),
        (Header.CAPTURE_TRIGGER.value, trigger.value.encode()),
        (Header.CAPTURE_RUN.value, run_id.encode()),
        (Header.CAPTURE_STEP.value, (step_id or "").encode()),
        (Header.CAPTURE_EVENT.value, (event_id or "").encode()),
        (Header.CAPTURE_TOOL_USE.value, (tool_use_id or "").encode()),
        (Header.CAPTURE_SHA256.value, hashlib.sha256(data).hexdigest().encode()),
        (Header.CAPTURE_KEY.value, key.key_id.encode()),
        (Header.CE_SOURCE.value, source),
        (Header.CONTENT_TYPE.value, b"application/octet-stream"),
    ]
    return [
        Message(
            CAPTURES.name,
            trace_id.encode(),
            key.encrypt(part, bound_to(trace_id, capture_id, kind.value, place, len(parts))),
            (*shared, (Header.CAPTURE_PART.value, f"{place}/{len(parts)}".encode())),
        )
        for place, part in enumerate(parts)
    ]
