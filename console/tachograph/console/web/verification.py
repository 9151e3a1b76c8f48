"""``Verify now``: one sealed record, its neighbours in the chain, and its place under the latest checkpoint."""

from dataclasses import dataclass
from typing import Any

from tachograph.schemas.proofs import NoteError, ProofError, Tree, leaf_of, open_checkpoint
from tachograph.schemas.proofs.encoding import to_base64
from tachograph.schemas.proofs.keys import KeySet
from tachograph.schemas.proofs.sealed import SealedRecord, check_record, origin_of
from tachograph.schemas.proofs.verify import verify_inclusion


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked."""

    what: str
    holds: bool
    says: str


def verified(
    record: Any, *, before: str | None, after: str | None, hashes: list[str], note: str | None, keys: KeySet
) -> list[Finding]:
    """What holds of a record. ``before`` and ``after`` are the neighbours' hash and previous hash, where they are."""
    sealed = SealedRecord(record["body"], record["record_hash"], record["signature"])
    checked = check_record(sealed, keys)
    findings = [
        Finding(
            "Hash and signature",
            checked.problem is None,
            f"signed by {record['signed_by']}" if checked.problem is None else checked.problem.value,
        ),
        _chain(record, checked.log_seq, checked.prev_hash, before, after),
    ]
    return [*findings, _checkpoint(record, hashes, note, keys)]


def _chain(record: Any, log_seq: int, prev_hash: str, before: str | None, after: str | None) -> Finding:
    first = record["log_seq"] == 0
    if log_seq != record["log_seq"]:
        return Finding("Place in the chain", holds=False, says="the sealed body names another place than the row")
    if not first and before is None:
        return Finding("Place in the chain", holds=False, says="the record before it is missing")
    if not first and before != prev_hash:
        return Finding("Place in the chain", holds=False, says="it does not follow the record before it")
    if after is not None and after != record["record_hash"]:
        return Finding("Place in the chain", holds=False, says="the record after it does not follow it")
    return Finding("Place in the chain", holds=True, says=f"record {record['log_seq']} of log {record['log_id']}")


def _checkpoint(record: Any, hashes: list[str], note: str | None, keys: KeySet) -> Finding:
    what = "Inclusion under a signed checkpoint"
    if note is None:
        return Finding(what, holds=False, says="no checkpoint covers this record yet")
    origin = origin_of(record["log_id"])
    try:
        head, _ = open_checkpoint(note, [key.note_key(origin) for key in keys.keys], origin=origin)
        tree = Tree(leaf_of(each) for each in hashes[: head.size])
        proof = tree.inclusion(record["log_seq"], head.size)
        verify_inclusion(leaf_of(record["record_hash"]), record["log_seq"], head.size, proof, head.root)
    except (NoteError, ProofError) as error:
        return Finding(what, holds=False, says=str(error))
    steps = ", ".join(to_base64(step)[:12] for step in proof)
    return Finding(what, holds=True, says=f"of {head.size} records; proof of {len(proof)} hashes ({steps or 'none'})")
