"""One log: every record by itself and in its place, then every checkpoint over them. Pure; finds all, stops at none."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from tachograph.schemas.proofs import GENESIS, NoteError, ProofError, Tree, TreeHead, leaf_of, open_checkpoint
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
    PROOF_INVALID = "proof_invalid"
    """A path of hashes does not lead to the root of its checkpoint."""
    KEYS_UNTRUSTED = "keys_untrusted"
    """The key set does not begin with the key that the auditor trusts, or does not hold together."""


MEANINGS: Final = {
    FindingCode.BODY_MALFORMED: "this is no record, or not in the exact form in which it was hashed",
    FindingCode.HASH_MISMATCH: "the record was changed after it was hashed",
    FindingCode.UNKNOWN_KEY: "the record was signed by a key that is not in the key set",
    FindingCode.KEY_NOT_EFFECTIVE: "the key was not yet, or no longer, in force when the record says it was sealed",
    FindingCode.SIGNATURE_INVALID: "the signature is not one of this key over this record",
    FindingCode.WRONG_PLACE: "a record does not follow the one before: one was dropped, swapped, repeated or inserted",
    FindingCode.NOTE_INVALID: "a checkpoint that no key of the set has signed, or one of another log",
    FindingCode.LOG_TOO_SHORT: "a checkpoint counts more records than are shown: the end was cut off",
    FindingCode.ROOT_MISMATCH: "a checkpoint was signed over other records than are shown",
    FindingCode.LOG_MISSING: "a checkpoint or heads record names this log, and it is not shown",
    FindingCode.PROOF_INVALID: "the path of hashes does not lead to the root of its checkpoint",
    FindingCode.KEYS_UNTRUSTED: "the key set does not hold together, or does not begin with the key that is trusted",
}
"""A sentence for the person who meets it. Those of the one-file verifier, too."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something that does not hold, and where."""

    code: FindingCode
    log_id: str
    place: int | None = None
    """Record in the order shown, or checkpoint in the order given, from 0."""

    @property
    def where(self) -> str:
        """The place, for people."""
        log = f"log {self.log_id}" if self.log_id else "the keys"
        return log if self.place is None else f"{log}, number {self.place}"

    @property
    def meaning(self) -> str:
        """What it says, in a sentence."""
        return MEANINGS[self.code]


@dataclass(slots=True)
class LogReport:
    """What holds of a log, and on what basis."""

    records: int = 0
    findings: list[Finding] = field(default_factory=list)
    checkpointed: int = 0
    """Records up to here are those that a signed checkpoint counts."""
    anchored: int = 0
    """Records up to here are those that a checkpoint from elsewhere counts."""
    keys: Counter[str] = field(default_factory=Counter)
    """Why signatures count, by how many records."""

    def basis_at(self, place: int) -> str:
        """On what one record stands."""
        if place < self.anchored:
            return "anchor"
        return "checkpoint" if place < self.checkpointed else "chain"

    def basis(self) -> dict[str, int]:
        """How many records stand on an anchor, on a checkpoint only, and on their chain only."""
        covered = max(self.anchored, self.checkpointed)
        return {
            "anchor": self.anchored,
            "checkpoint": covered - self.anchored,
            "chain": self.records - covered,
        }


def verify_log(log_id: str, records: Sequence[SealedRecord], checkpoints: Iterable[str], keys: KeySet) -> list[Finding]:
    """Everything that does not hold in one log; empty if all does."""
    return report_log(log_id, records, checkpoints, (), keys).findings


def report_log(
    log_id: str,
    records: Sequence[SealedRecord],
    checkpoints: Iterable[str],
    anchors: Iterable[TreeHead | None],
    keys: KeySet,
    *,
    heads: Iterable[TreeHead | None] = (),
) -> LogReport:
    """The same with its basis. ``anchors`` are heads of the log from elsewhere; None for one that does not hold.

    ``heads`` are those that signed heads records name, which come with the log as its checkpoints do.
    """
    report = LogReport(len(records))
    tree, before, last = Tree(), GENESIS, -1
    for place, record in enumerate(records):
        found = check_record(record, keys)
        if found.problem is not None:
            report.findings.append(Finding(FindingCode(found.problem.value), log_id, place))
        elif (found.log_id, found.log_seq, found.prev_hash) != (log_id, place, before) or found.sealed_at < last:
            report.findings.append(Finding(FindingCode.WRONG_PLACE, log_id, place))
        elif found.basis is not None:
            report.keys[found.basis.value] += 1
        before, last = record.record_hash, max(last, found.sealed_at)
        try:
            tree.append(leaf_of(record.record_hash))
        except ProofError:  # already a finding: it cannot be the hash of the body
            tree.append(bytes(32))
    shown = [*(_opened(log_id, note, keys) for note in checkpoints), *heads]
    for place, head in enumerate([*shown, *anchors]):
        code = FindingCode.NOTE_INVALID if head is None else _against(head, tree)
        if head is None or code is not None:
            report.findings.append(Finding(code or FindingCode.NOTE_INVALID, log_id, place))
        elif place < len(shown):
            report.checkpointed = max(report.checkpointed, head.size)
        else:
            report.anchored = max(report.anchored, head.size)
    return report


def _opened(log_id: str, note: str, keys: KeySet) -> TreeHead | None:
    origin = origin_of(log_id)
    try:
        return open_checkpoint(note, [key.note_key(origin) for key in keys.keys], origin=origin)[0]
    except NoteError:
        return None


def _against(head: TreeHead, tree: Tree) -> FindingCode | None:
    if head.size > tree.size:
        return FindingCode.LOG_TOO_SHORT
    return None if tree.root(head.size) == head.root else FindingCode.ROOT_MISMATCH
