"""One log: every record by itself and in its place, then every checkpoint over them. Pure; finds all, stops at none."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tachograph.schemas.proofs import GENESIS, NoteError, ProofError, Tree, leaf_of, open_checkpoint
from tachograph.schemas.proofs.keys import KeySet
from tachograph.schemas.proofs.sealed import SealedRecord, check_record, origin_of


class FindingCode(StrEnum):
    """What does not hold. The one-file verifier uses the same words."""

    BODY_MALFORMED = "body_malformed"
    HASH_MISMATCH = "hash_mismatch"
    UNKNOWN_KEY = "unknown_key"
    KEY_NOT_EFFECTIVE = "key_not_effective"
    SIGNATURE_INVALID = "signature_invalid"
    WRONG_PLACE = "wrong_place"
    """Log, number, previous hash or time do not follow the record before: dropped, swapped, repeated or inserted."""
    NOTE_INVALID = "note_invalid"
    """A checkpoint that is none, or that no key of the set has signed."""
    LOG_TOO_SHORT = "log_too_short"
    """A checkpoint counts more records than there are."""
    ROOT_MISMATCH = "root_mismatch"
    """A checkpoint was signed over other records."""
    LOG_MISSING = "log_missing"
    """An auditor holds a checkpoint of a log that is not shown."""
    KEYS_UNTRUSTED = "keys_untrusted"
    """The key set does not begin with the key that the auditor trusts, or does not hold together."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something that does not hold, and where."""

    code: FindingCode
    log_id: str
    place: int | None = None
    """Record in the order shown, or checkpoint in the order given, from 0."""


def verify_log(log_id: str, records: Sequence[SealedRecord], checkpoints: Iterable[str], keys: KeySet) -> list[Finding]:
    """Everything that does not hold in one log; empty if all does."""
    findings: list[Finding] = []
    tree, before, last = Tree(), GENESIS, -1
    for place, record in enumerate(records):
        found = check_record(record, keys)
        if found.problem is not None:
            findings.append(Finding(FindingCode(found.problem.value), log_id, place))
        elif (found.log_id, found.log_seq, found.prev_hash) != (log_id, place, before) or found.sealed_at < last:
            findings.append(Finding(FindingCode.WRONG_PLACE, log_id, place))
        before, last = record.record_hash, max(last, found.sealed_at)
        try:
            tree.append(leaf_of(record.record_hash))
        except ProofError:  # already a finding: it cannot be the hash of the body
            tree.append(bytes(32))
    for place, note in enumerate(checkpoints):
        code = _checkpoint(log_id, note, tree, keys)
        if code is not None:
            findings.append(Finding(code, log_id, place))
    return findings


def _checkpoint(log_id: str, note: str, tree: Tree, keys: KeySet) -> FindingCode | None:
    origin = origin_of(log_id)
    try:
        head, _ = open_checkpoint(note, [key.note_key(origin) for key in keys.keys], origin=origin)
    except NoteError:
        return FindingCode.NOTE_INVALID
    if head.size > tree.size:
        return FindingCode.LOG_TOO_SHORT
    return None if tree.root(head.size) == head.root else FindingCode.ROOT_MISMATCH
