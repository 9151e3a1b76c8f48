"""Proofs as files: that a record stands in a log, and that a log only grew. Anybody can check them without the log.

::

    {"format": "tachograph-proof/1", "kind": "inclusion", "log_id": …, "log_seq": …, "record": {body, record_hash,
     signature}, "path": [base64 …], "checkpoint": signed note}
    {"format": "tachograph-proof/1", "kind": "consistency", "log_id": …, "path": [base64 …], "old": note, "new": note}

A file on its own also has ``keys``, the key set; in a bundle that is beside it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tachograph.console.verify.log import FindingCode
from tachograph.schemas.proofs import (
    NoteError,
    ProofError,
    Tree,
    TreeHead,
    leaf_of,
    open_checkpoint,
    verify_consistency,
    verify_inclusion,
)
from tachograph.schemas.proofs.encoding import from_base64, to_base64
from tachograph.schemas.proofs.keys import KeySet
from tachograph.schemas.proofs.sealed import SealedRecord, check_record, origin_of

FORMAT: Final = "tachograph-proof/1"

Proof = Mapping[str, Any]
"""A document of this format."""

_FIELDS: Final[dict[str, dict[str, type]]] = {
    "inclusion": {"log_id": str, "log_seq": int, "record": dict, "path": list, "checkpoint": str},
    "consistency": {"log_id": str, "path": list, "old": str, "new": str},
}


@dataclass(slots=True)
class Checked:
    """What a proof shows."""

    log_id: str
    codes: list[FindingCode] = field(default_factory=list)
    """What does not hold."""
    records: int = 0
    basis: Counter[str] = field(default_factory=Counter)
    keys: Counter[str] = field(default_factory=Counter)


def inclusion(tree: Tree, log_id: str, seq: int, record: SealedRecord, note: str) -> dict[str, Any]:
    """A proof that a record stands in a log at its place, under a checkpoint."""
    head = TreeHead.parse(note.partition("\n\n")[0] + "\n")
    return {
        "format": FORMAT,
        "kind": "inclusion",
        "log_id": log_id,
        "log_seq": seq,
        "record": {"body": record.body, "record_hash": record.record_hash, "signature": record.signature},
        "path": [to_base64(item) for item in tree.inclusion(seq, head.size)],
        "checkpoint": note,
    }


def consistency(tree: Tree, log_id: str, old: str, new: str) -> dict[str, Any]:
    """A proof that the log of one checkpoint begins with that of another."""
    sizes = [TreeHead.parse(note.partition("\n\n")[0] + "\n").size for note in (old, new)]
    path = [to_base64(item) for item in tree.consistency(sizes[0], sizes[1])]
    return {"format": FORMAT, "kind": "consistency", "log_id": log_id, "path": path, "old": old, "new": new}


def checked_form(document: Any) -> Proof:
    """The document, if it has the form of a proof; ValueError if not."""
    fields = _FIELDS[document["kind"]]
    whole = document["format"] == FORMAT and all(type(document[name]) is kind for name, kind in fields.items())
    record = document.get("record", {"body": "", "record_hash": "", "signature": ""})
    parts = (record["body"], record["record_hash"], record["signature"], *document["path"])
    if not whole or not all(isinstance(part, str) for part in parts):
        raise ValueError("not a proof")
    return document  # type: ignore[no-any-return]  # checked above


def check_proof(proof: Proof, keys: KeySet, anchors: Sequence[TreeHead | None]) -> Checked:
    """Check a proof. ``anchors`` are heads of its log from elsewhere; None for one that does not hold."""
    if proof["kind"] == "inclusion":
        return _inclusion(proof, keys, anchors)
    return _consistency(proof, keys)


def _inclusion(proof: Proof, keys: KeySet, anchors: Sequence[TreeHead | None]) -> Checked:
    checked = Checked(proof["log_id"], records=1)
    record = SealedRecord(**proof["record"])
    found = check_record(record, keys)
    if found.problem is not None:
        checked.codes.append(FindingCode(found.problem.value))
    elif (found.log_id, found.log_seq) != (proof["log_id"], proof["log_seq"]):
        checked.codes.append(FindingCode.WRONG_PLACE)
    elif found.basis is not None:
        checked.keys[found.basis.value] += 1
    head = _opened(proof["checkpoint"], proof["log_id"], keys)
    if head is None:
        checked.codes.append(FindingCode.NOTE_INVALID)
        return checked
    try:
        path = [from_base64(item) for item in proof["path"]]
        verify_inclusion(leaf_of(record.record_hash), proof["log_seq"], head.size, path, head.root)
    except (ProofError, NoteError):
        checked.codes.append(FindingCode.PROOF_INVALID)
    if None in anchors:
        checked.codes.append(FindingCode.NOTE_INVALID)
    of_size = [anchor for anchor in anchors if anchor is not None and anchor.size == head.size]
    if any(anchor.root != head.root for anchor in of_size):
        checked.codes.append(FindingCode.ROOT_MISMATCH)
    checked.basis["anchor" if of_size else "checkpoint"] += 1
    return checked


def _consistency(proof: Proof, keys: KeySet) -> Checked:
    checked = Checked(proof["log_id"])
    old, new = (_opened(proof[name], proof["log_id"], keys) for name in ("old", "new"))
    if old is None or new is None:
        checked.codes.append(FindingCode.NOTE_INVALID)
        return checked
    try:
        path = [from_base64(item) for item in proof["path"]]
        verify_consistency(old.size, new.size, path, old.root, new.root)
    except (ProofError, NoteError):
        checked.codes.append(FindingCode.PROOF_INVALID)
    return checked


def _opened(note: str, log_id: str, keys: KeySet) -> TreeHead | None:
    origin = origin_of(log_id)
    try:
        return open_checkpoint(note, [key.note_key(origin) for key in keys.keys], origin=origin)[0]
    except NoteError:
        return None
