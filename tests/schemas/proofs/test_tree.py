"""The Merkle tree: against the RFC's own recursive definition, the published vectors, and its laws."""

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.schemas.proofs import CompactRange, ProofError, Tree, leaf_of, verify_consistency, verify_inclusion
from tachograph.schemas.proofs.tree import EMPTY_ROOT, leaf_hash, node_hash

VECTORS: dict[str, Any] = json.loads(files("tachograph.schemas").joinpath("vectors", "proofs.json").read_text("utf-8"))
LEAVES = [leaf_hash(b"%d" % number) for number in range(70)]


def definition(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962 section 2.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\x01" + definition(leaves[:split]) + definition(leaves[split:])).digest()


def check(row: dict[str, Any]) -> None:
    decode = base64.b64decode
    proof = [decode(part) for part in row["proof"]]
    if row["kind"] == "inclusion":
        verify_inclusion(leaf_of(row["record_hash"]), row["index"], row["size"], proof, decode(row["root"]))
    else:
        roots = decode(row["old_root"]), decode(row["new_root"])
        verify_consistency(row["old_size"], row["new_size"], proof, *roots)


def test_roots_are_those_of_the_definition() -> None:
    """Both ways of growing a tree give the root that the RFC's recursion gives, at every size."""
    tree, edge = Tree(), CompactRange()
    for size in range(len(LEAVES) + 1):
        assert tree.root() == edge.root() == definition(LEAVES[:size])
        assert (tree.size, edge.size) == (size, size)
        if size < len(LEAVES):
            tree.append(LEAVES[size])
            edge.append(LEAVES[size])
    assert all(tree.root(size) == definition(LEAVES[:size]) for size in range(len(LEAVES) + 1))


def test_an_edge_can_be_kept_and_continued() -> None:
    """A sealer that restarts from the edge of its tree goes on to the same root."""
    first = CompactRange()
    for leaf in LEAVES[:37]:
        first.append(leaf)
    second = CompactRange(first.size, first.edge)
    for leaf in LEAVES[37:]:
        second.append(leaf)
    assert second.root() == definition(LEAVES)


@pytest.mark.parametrize(("size", "edge"), [(1, []), (3, [LEAVES[0]]), (-1, []), (1, [b"short"])])
def test_an_edge_that_fits_no_size_is_refused(size: int, edge: list[bytes]) -> None:
    """An edge has one hash for each bit of the size."""
    with pytest.raises(ProofError):
        CompactRange(size, edge)


@pytest.mark.parametrize("row", VECTORS["accepted"], ids=lambda row: f"{row['kind']} {row['name']}")
def test_published_proofs_hold(row: dict[str, Any]) -> None:
    """The accepted vectors verify."""
    check(row)


@pytest.mark.parametrize("row", VECTORS["refused"], ids=lambda row: f"{row['kind']} {row['name']}")
def test_published_forgeries_are_refused(row: dict[str, Any]) -> None:
    """The refused vectors do not."""
    with pytest.raises(ProofError):
        check(row)


@given(st.data())
def test_every_inclusion_proof_holds_and_no_bent_one_does(data: st.DataObject) -> None:
    """A proof verifies; with one bit flipped, or for another place, it does not."""
    size = data.draw(st.integers(1, len(LEAVES)))
    index = data.draw(st.integers(0, size - 1))
    tree = Tree(LEAVES)
    proof, root = tree.inclusion(index, size), tree.root(size)
    verify_inclusion(LEAVES[index], index, size, proof, root)
    if proof:
        bent = list(proof)
        place = data.draw(st.integers(0, len(proof) - 1))
        bent[place] = flipped(bent[place], data.draw(st.integers(0, 255)))
        with pytest.raises(ProofError):
            verify_inclusion(LEAVES[index], index, size, bent, root)
    other = data.draw(st.integers(0, size - 1).filter(lambda place: place != index or size == 1))
    if other != index:
        with pytest.raises(ProofError):
            verify_inclusion(LEAVES[index], other, size, proof, root)


@given(st.data())
def test_every_consistency_proof_holds_and_no_rewritten_log_has_one(data: st.DataObject) -> None:
    """A tree proves its own past; one in which any earlier leaf was changed cannot."""
    new = data.draw(st.integers(1, len(LEAVES)))
    old = data.draw(st.integers(1, new))
    tree = Tree(LEAVES)
    verify_consistency(old, new, tree.consistency(old, new), tree.root(old), tree.root(new))
    changed = data.draw(st.integers(0, old - 1))
    rewritten = Tree([*LEAVES[:changed], leaf_hash(b"rewritten"), *LEAVES[changed + 1 :]])
    with pytest.raises(ProofError):
        verify_consistency(old, new, rewritten.consistency(old, new), tree.root(old), rewritten.root(new))


def test_questions_past_the_tree_are_refused() -> None:
    """No proof is made up for leaves that are not there."""
    tree = Tree(LEAVES[:5])
    for ask in (
        lambda: tree.root(6),
        lambda: tree.inclusion(5),
        lambda: tree.inclusion(-1),
        lambda: tree.inclusion(0, 6),
        lambda: tree.consistency(4, 6),
        lambda: tree.consistency(5, 4),
    ):
        with pytest.raises(ProofError):
            ask()


def test_a_node_is_not_a_leaf() -> None:
    """The hash of two leaves, given as data, makes another leaf hash than the node it spells."""
    assert leaf_hash(LEAVES[0] + LEAVES[1]) != node_hash(LEAVES[0], LEAVES[1])
    assert Tree().root() == EMPTY_ROOT


def flipped(value: bytes, bit: int) -> bytes:
    return (int.from_bytes(value) ^ (1 << bit)).to_bytes(len(value))
