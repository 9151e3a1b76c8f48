"""Proofs of single records and of growth, as files: checked alike by the library and by the one-file verifier."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.console.verify import Bundle, read_bundle, report_bundle
from tachograph.console.verify.bundle import BundleError
from tachograph.console.verify.proof import consistency, inclusion
from tachograph.processors.sealing import checkpoint
from tachograph.schemas.proofs import Tree, leaf_of
from tests.console.verify.test_tamper_matrix import (
    EARLY,
    HEADS_NOTE,
    NOTE,
    OTHER_NOTE,
    RECORDS,
    REWRITTEN_NOTE,
    VERIFIER,
    one_file,
)
from tests.processors.sealing.logs import FIRST, KEYS, SIGNER, sealed_log

TREE = Tree(leaf_of(record.record_hash) for record in RECORDS)
KEY_LIST = [key.model_dump(mode="json") for key in KEYS.keys]
INCLUDED = inclusion(TREE, "acme/0", 2, RECORDS[2], NOTE) | {"keys": KEY_LIST}
GREW = consistency(TREE, "acme/0", EARLY, NOTE) | {"keys": KEY_LIST}


def said(proof: dict[str, Any], folder: Path, *anchors: str) -> Any:
    """What both verifiers say of a proof's file; they agree."""
    path = folder / "proof.json"
    path.write_text(json.dumps(proof), encoding="utf-8")
    report = report_bundle(read_bundle(path), trusted_key=FIRST.public_key, anchors=anchors).as_json()
    assert one_file(path, *anchors) == report
    return report


def codes(report: Any) -> set[str]:
    return {item["code"] for item in report["findings"]}


@pytest.mark.parametrize("place", range(len(RECORDS)))
def test_every_record_can_be_proved(place: int, tmp_path: Path) -> None:
    """Under the checkpoint that counts it; basis: that checkpoint."""
    proof = inclusion(TREE, "acme/0", place, RECORDS[place], EARLY if place < 3 else NOTE) | {"keys": KEY_LIST}
    report = said(proof, tmp_path)
    assert (report["records"], report["findings"]) == (1, [])
    assert report["basis"] == {"anchor": 0, "checkpoint": 1, "chain": 0}


def test_an_anchor_of_the_same_tree_is_the_better_basis(tmp_path: Path) -> None:
    """A checkpoint that the auditor kept, or a heads record with the log in it."""
    assert said(INCLUDED, tmp_path, NOTE)["basis"] == {"anchor": 1, "checkpoint": 0, "chain": 0}
    report = said(INCLUDED, tmp_path, HEADS_NOTE)
    assert report["basis"]["anchor"] == 1
    # The other log of the heads record is not in the evidence, which claims nothing of it.
    assert (codes(report), report["not_shown"]) == (set(), ["acme/1"])


def changed(**fields: Any) -> dict[str, Any]:
    return deepcopy(INCLUDED) | fields


RECORD = INCLUDED["record"]
BENT = {
    "another record": (
        changed(record=inclusion(TREE, "acme/0", 3, RECORDS[3], NOTE)["record"]),
        {"wrong_place", "proof_invalid"},
    ),
    "another place": (changed(log_seq=3), {"wrong_place", "proof_invalid"}),
    "a changed body": (changed(record=RECORD | {"body": RECORD["body"].replace("4200", "9200")}), {"hash_mismatch"}),
    "a shorter path": (changed(path=INCLUDED["path"][:-1]), {"proof_invalid"}),
    "a longer path": (changed(path=[*INCLUDED["path"], INCLUDED["path"][0]]), {"proof_invalid"}),
    "a path that is no base64": (changed(path=["*", *INCLUDED["path"][1:]]), {"proof_invalid"}),
    "an earlier checkpoint": (changed(checkpoint=EARLY), {"proof_invalid"}),
    "a checkpoint of another log": (changed(checkpoint=OTHER_NOTE), {"note_invalid"}),
    "a checkpoint of a rewritten log": (changed(checkpoint=REWRITTEN_NOTE), {"proof_invalid"}),
    "growth from another log": (GREW | {"old": OTHER_NOTE}, {"note_invalid"}),
    "growth that was none": (GREW | {"new": REWRITTEN_NOTE}, {"proof_invalid"}),
    "growth backwards": (GREW | {"old": NOTE, "new": EARLY}, {"proof_invalid"}),
    "growth without a path": (GREW | {"path": []}, {"proof_invalid"}),
}


@pytest.mark.parametrize(("proof", "caught"), BENT.values(), ids=BENT.keys())
def test_what_does_not_hold_is_found(proof: dict[str, Any], caught: set[str], tmp_path: Path) -> None:
    """Exactly the codes of the row, from both."""
    assert codes(said(proof, tmp_path)) == caught


def test_two_auditors_with_different_logs_find_out(tmp_path: Path) -> None:
    """The other's checkpoint of the same size has another root."""
    assert codes(said(INCLUDED, tmp_path, REWRITTEN_NOTE)) == {"root_mismatch"}


def test_a_log_that_grew_is_shown_to_have_only_grown(tmp_path: Path) -> None:
    """From a kept checkpoint to the latest."""
    assert said(GREW, tmp_path)["findings"] == []


@given(st.integers(1, 40), st.data())
def test_growth_holds_between_any_two_sizes(size: int, data: st.DataObject) -> None:
    """And no bit of its path can flip."""
    leaves = [leaf_of(f"sha256:{number:064x}") for number in range(size)]
    old, tree = data.draw(st.integers(0, size)), Tree(leaves)
    path = tree.consistency(old, size)
    heads = (old, tree.root(old)), (size, tree.root())
    assert VERIFIER["grew"](*heads, path)
    if path:
        place = data.draw(st.integers(0, len(path) - 1))
        bent = [*path]
        bent[place] = bytes([bent[place][0] ^ (1 << data.draw(st.integers(0, 7)))]) + bent[place][1:]
        assert not VERIFIER["grew"](*heads, bent)
    place = data.draw(st.integers(0, size - 1))
    assert VERIFIER["follow"](leaves[place], place, size, tree.inclusion(place)) == tree.root()


def test_a_proof_is_small() -> None:
    """A path is as long as the tree is high, whatever it holds."""
    log = sealed_log(1)
    note = checkpoint(log[0].head, keys=KEYS, signer=SIGNER)
    tree = Tree(leaf_of(f"sha256:{number:064x}") for number in range(200_000))
    path = tree.inclusion(123_456)
    assert len(path) == 18
    assert (
        len(json.dumps(inclusion(Tree([leaf_of(log[0].record.record_hash)]), "acme/0", 0, log[0].record, note))) < 8000
    )


def test_what_is_no_proof_is_refused(tmp_path: Path) -> None:
    """A sentence for the person, not a traceback."""
    for text in ("{}", "[]", "x", json.dumps(INCLUDED | {"path": [1]}), json.dumps(INCLUDED | {"format": "other"})):
        (tmp_path / "p.json").write_text(text)
        with pytest.raises(BundleError):
            read_bundle(tmp_path / "p.json")


def test_proofs_and_whole_logs_in_one_bundle() -> None:
    """Both are checked, and counted."""
    made = Bundle({"acme/0": (RECORDS, [NOTE])}, KEYS.keys, [INCLUDED, GREW])
    report = report_bundle(made, trusted_key=FIRST.public_key)
    assert (report.records, report.findings) == (7, [])
