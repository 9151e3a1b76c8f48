"""Checking proofs, by the algorithms of RFC 9162: a proof has exactly one length that fits, and one root."""

import hmac
from collections.abc import Sequence

from tachograph.schemas.proofs.errors import ProofError
from tachograph.schemas.proofs.tree import EMPTY_ROOT, HASH_BYTES, node_hash


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> None:
    """Check that a leaf hash stands at a place under a root; a `ProofError` says what does not hold.

    Size and root come from one checkpoint: a proof alone cannot tell apart sizes in which the path has one shape.
    """
    _hashes(leaf, root, *proof)
    if not 0 <= index < size:
        raise ProofError(f"leaf {index} is not under a tree of {size} leaves")
    place, last, found = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            raise ProofError("the inclusion proof is too long")
        if place & 1 or place == last:
            found = node_hash(sibling, found)
            while not place & 1 and place:
                place >>= 1
                last >>= 1
        else:
            found = node_hash(found, sibling)
        place >>= 1
        last >>= 1
    if last:
        raise ProofError("the inclusion proof is too short")
    _same(found, root, "the inclusion proof leads to another root")


def verify_consistency(old: int, new: int, proof: Sequence[bytes], old_root: bytes, new_root: bytes) -> None:
    """Check that one tree begins with another; a `ProofError` says what does not hold."""
    if not 0 <= old <= new:
        raise ProofError(f"a tree of {old} leaves is not the beginning of one of {new}")
    if old in (0, new) and proof:
        raise ProofError("the consistency proof is too long")
    if 0 < old == new:
        _same(old_root, new_root, "two trees of one size have different roots")
        return
    _hashes(old_root, new_root, *proof)
    if old == 0:
        _same(old_root, EMPTY_ROOT, "the tree without leaves has one root, and this is another")
        _same(EMPTY_ROOT if new else new_root, EMPTY_ROOT, "two trees of one size have different roots")
        return
    was, now = _both_roots(old, new, proof, old_root)
    _same(was, old_root, "the consistency proof leads to another old root")
    _same(now, new_root, "the consistency proof leads to another new root")


def _both_roots(old: int, new: int, proof: Sequence[bytes], old_root: bytes) -> tuple[bytes, bytes]:
    # A complete old tree is a node of the new one and is not repeated in the proof.
    path = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    if not path:
        raise ProofError("the consistency proof is too short")
    place, last = old - 1, new - 1
    while place & 1:
        place >>= 1
        last >>= 1
    was = now = path[0]
    for sibling in path[1:]:
        if last == 0:
            raise ProofError("the consistency proof is too long")
        if place & 1 or place == last:
            was, now = node_hash(sibling, was), node_hash(sibling, now)
            while not place & 1 and place:
                place >>= 1
                last >>= 1
        else:
            now = node_hash(now, sibling)
        place >>= 1
        last >>= 1
    if last:
        raise ProofError("the consistency proof is too short")
    return was, now


def _hashes(*values: bytes) -> None:
    if any(len(value) != HASH_BYTES for value in values):
        raise ProofError("a hash of a proof has 32 bytes")


def _same(found: bytes, claimed: bytes, complaint: str) -> None:
    if not hmac.compare_digest(found, claimed):
        raise ProofError(complaint)
