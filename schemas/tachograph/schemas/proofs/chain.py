"""The hash chain: what is hashed, what is signed, and what goes into the tree.

The body of a record is the RFC 8785 form (sealed profile) of everything in it but its own hash and signature. It names
the hash of the record before it, its log and its place, so a body fits in one place only.
"""

import hashlib
import re
from typing import Final

from tachograph.schemas.proofs.errors import ProofError
from tachograph.schemas.proofs.tree import leaf_hash

PREFIX: Final = "sha256:"

GENESIS: Final = PREFIX + "0" * 64
"""What the first record of a log names as the one before it."""

RECORD_CONTEXT: Final = b"tachograph.record.v1\x00"
"""Precedes what is signed of a record. No note may hold its NUL, so no signature serves for both."""

_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")


def body_hash(body: bytes) -> str:
    """Hash of a record, from its exact bytes."""
    return PREFIX + hashlib.sha256(body).hexdigest()


def digest(record_hash: str) -> bytes:
    """The 32 bytes that a record hash spells."""
    if _HASH.fullmatch(record_hash) is None:
        raise ProofError("a record hash is written sha256: and 64 lower-case hexadecimal digits")
    return bytes.fromhex(record_hash.removeprefix(PREFIX))


def signed_message(record_hash: str) -> bytes:
    """What the signature of a record is made over."""
    return RECORD_CONTEXT + digest(record_hash)


def leaf_of(record_hash: str) -> bytes:
    """Leaf hash of a record in its log's tree: the leaf is the record hash, as bytes."""
    return leaf_hash(digest(record_hash))
