"""Base64 with one spelling per value: a decoder that ignores spare bits lets a flipped bit pass."""

import base64
import binascii

from tachograph.schemas.proofs.errors import NoteError


def to_base64(data: bytes) -> str:
    """Standard alphabet, padded."""
    return base64.b64encode(data).decode("ascii")


def from_base64(text: str) -> bytes:
    """Decode what `to_base64` could have written, and nothing else."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise NoteError("not base64") from None
    if to_base64(data) != text:
        raise NoteError("base64 in another than its canonical spelling")
    return data
