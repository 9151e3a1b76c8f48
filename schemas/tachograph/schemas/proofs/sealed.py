"""A sealed record on its own: what it is, and what can be checked without the rest of its log."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

import orjson

from tachograph.schemas.canonical import CanonicalError, sealed_bytes
from tachograph.schemas.proofs.chain import body_hash, signed_message
from tachograph.schemas.proofs.encoding import from_base64
from tachograph.schemas.proofs.errors import NoteError
from tachograph.schemas.proofs.keys import Basis, KeySet, micros

FORMAT: Final = "tachograph.record/1"
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


class RecordProblem(StrEnum):
    """Why a record does not verify by itself. The codes are those of the one-file verifier too."""

    BODY_MALFORMED = "body_malformed"
    """Not the canonical form of a record."""
    HASH_MISMATCH = "hash_mismatch"
    UNKNOWN_KEY = "unknown_key"
    KEY_NOT_EFFECTIVE = "key_not_effective"
    """The key was not yet, or no longer, effective when the record says it was sealed."""
    SIGNATURE_INVALID = "signature_invalid"


@dataclass(frozen=True, slots=True)
class SealedRecord:
    """Exact bytes that were hashed, their hash, and its signature in base64."""

    body: str
    record_hash: str
    signature: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What a record says of its place, and whether it may be believed."""

    problem: RecordProblem | None
    content: Any = None
    log_id: str = ""
    log_seq: int = -1
    prev_hash: str = ""
    sealed_at: int = -1
    basis: Basis | None = None


def origin_of(log_id: str) -> str:
    """First line of the checkpoints of a log, and the name under which they are signed."""
    return f"tachograph/{log_id}"


def check_record(record: SealedRecord, keys: KeySet) -> Checked:
    """Check form, hash, key and signature. Place in the log is for the one who has the log."""
    try:
        # What is written again as exactly the same bytes had no key twice, no float and no other spelling.
        content: Any = orjson.loads(record.body)
        audit = content["audit"]
        if sealed_bytes(content) != record.body.encode() or content["format"] != FORMAT:
            return Checked(RecordProblem.BODY_MALFORMED)
        sealed_at = _moment(audit["sealed_at"])
        place = str(audit["log_id"]), int(audit["log_seq"]), str(audit["prev_hash"]), sealed_at
        key_id = str(audit["signed_by"])
    except (CanonicalError, ValueError, KeyError, TypeError):
        return Checked(RecordProblem.BODY_MALFORMED)
    problem, basis = _believed(record, key_id, sealed_at, keys)
    return Checked(problem, content, *place, basis)


def _believed(
    record: SealedRecord, key_id: str, sealed_at: int, keys: KeySet
) -> tuple[RecordProblem | None, Basis | None]:
    if body_hash(record.body.encode()) != record.record_hash:
        return RecordProblem.HASH_MISMATCH, None
    key = keys.get(key_id)
    if key is None:
        return RecordProblem.UNKNOWN_KEY, None
    basis = keys.basis(key, sealed_at)
    if basis is None:
        return RecordProblem.KEY_NOT_EFFECTIVE, None
    try:
        signature = from_base64(record.signature)
    except NoteError:
        signature = b""
    if not keys.verifier(key.key_id).verifies(signature, signed_message(record.record_hash)):
        return RecordProblem.SIGNATURE_INVALID, None
    return None, basis


def _moment(text: str) -> int:
    if _MOMENT.fullmatch(text) is None:
        raise ValueError("not a moment")
    return micros(datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC))
