"""Vectors that others have published. They are not ours to ship, so they are run where somebody has fetched them.

``TACHOGRAPH_TEST_VECTORS`` names a folder with checkouts of transparency-dev/merkle, C2SP/C2SP and
trailofbits/rfc8785.py, under the names ``merkle``, ``C2SP`` and ``rfc8785.py``. What is not there is skipped.
"""

import base64
import json
import os
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tachograph.schemas.canonical import canonical_bytes
from tachograph.schemas.proofs import (
    CompactRange,
    NoteError,
    NoteKey,
    ProofError,
    Tree,
    TreeHead,
    open_checkpoint,
    open_note,
    verify_consistency,
    verify_inclusion,
)
from tachograph.schemas.proofs.tree import leaf_hash

FOLDER = Path(os.environ.get("TACHOGRAPH_TEST_VECTORS", "")).expanduser()
MERKLE, NOTES, CANONICAL = FOLDER / "merkle", FOLDER / "C2SP", FOLDER / "rfc8785.py" / "test" / "assets"
IS_GIVEN = "TACHOGRAPH_TEST_VECTORS" in os.environ
ONE_FILE = runpy.run_path(
    str(Path(__file__).parents[3] / "console/tachograph/console/verify/tachograph_verify.py"), run_name="verifier"
)


def needs(folder: Path) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not (IS_GIVEN and folder.is_dir()), reason="set TACHOGRAPH_TEST_VECTORS to run these")


def proofs(kind: str) -> list[Any]:
    found = sorted((MERKLE / "testdata" / kind).rglob("*.json")) if IS_GIVEN else []
    return [pytest.param(path, id=str(path.relative_to(MERKLE / "testdata"))) for path in found]


def decoded(text: str | None) -> bytes:
    return base64.b64decode(text or "")


@needs(MERKLE)
@pytest.mark.parametrize("path", proofs("inclusion"))
def test_inclusion_proofs_of_transparency_dev(path: Path) -> None:
    """What shall hold holds, what shall not does not, for the library and for the one-file verifier."""
    row = json.loads(path.read_text())
    path_of = [decoded(item) for item in row["proof"] or ()]
    given = decoded(row["leafHash"]), row["leafIdx"], row["treeSize"], path_of
    alone = ONE_FILE["follow"](*given) == decoded(row["root"])
    try:
        verify_inclusion(*given, decoded(row["root"]))
        ours = True
    except ProofError:
        ours = False
    assert (ours, alone) == (not row["wantErr"],) * 2


@needs(MERKLE)
@pytest.mark.parametrize("path", proofs("consistency"))
def test_consistency_proofs_of_transparency_dev(path: Path) -> None:
    """The same for growth."""
    row = json.loads(path.read_text())
    path_of = [decoded(item) for item in row["proof"] or ()]
    old, new = decoded(row["root1"]), decoded(row["root2"])
    alone = ONE_FILE["grew"]((row["size1"], old), (row["size2"], new), path_of)
    try:
        verify_consistency(row["size1"], row["size2"], path_of, old, new)
        ours = True
    except ProofError:
        ours = False
    assert (ours, alone) == (not row["wantErr"],) * 2


@needs(MERKLE)
def test_the_tree_of_rfc_6962() -> None:
    """The eight leaves that implementations of the RFC test with, and the root after each."""
    functions = (MERKLE / "testonly" / "constants.go").read_text().split("\nfunc ")
    found = {text.partition("(")[0]: re.findall(r'hd\("([0-9a-f]*)"\)', text) for text in functions}
    leaves, roots = ([bytes.fromhex(item) for item in found[name]] for name in ("LeafInputs", "RootHashes"))
    tree, edge = Tree(), CompactRange()
    for leaf, root in zip(leaves, roots, strict=True):
        tree.append(leaf_hash(leaf))
        edge.append(leaf_hash(leaf))
        assert tree.root() == edge.root() == root
    assert len(leaves) == 8


@needs(NOTES)
def test_the_note_of_c2sp() -> None:
    """The example of the specification opens, by the verifier key that stands above it, and not when it is bent."""
    page = (NOTES / "signed-note.md").read_text("utf-8")
    found = re.search(r"^ +(example\.com/foo\+\S+)$", page, re.MULTILINE)
    note = re.search(r"```\n(This is an example message\.\n\n— example\.com/foo \S+\n)```", page)
    assert found
    assert note
    key = NoteKey.parse(found[1])
    assert key.vkey() == found[1]
    assert open_note(note[1], [key]).text == "This is an example message.\n"
    name, _, signed = note[1].partition("\n\n— ")[2].rstrip("\n").partition(" ")
    assert (name, base64.b64decode(signed)[:4]) == (key.name, key.id)
    public = Ed25519PublicKey.from_public_bytes(key.public)
    public.verify(base64.b64decode(signed)[4:], b"This is an example message.\n")
    with pytest.raises(InvalidSignature):
        public.verify(base64.b64decode(signed)[4:], b"This is another message.\n")


@needs(NOTES)
def test_the_checkpoint_of_c2sp_has_our_form() -> None:
    """The example has no published key: what can be read of it is origin, size and root."""
    page = (NOTES / "tlog-checkpoint.md").read_text("utf-8")
    note = re.search(r"```\n(example\.com/behind-the-sofa\n.*?)```", page, re.DOTALL)
    assert note
    read = TreeHead.parse(note[1].partition("\n\n")[0] + "\n")
    assert (read.origin, read.text()) == ("example.com/behind-the-sofa", note[1].partition("\n\n")[0] + "\n")
    with pytest.raises(NoteError, match="no trusted key"):
        open_checkpoint(note[1], [], origin="example.com/behind-the-sofa")


@needs(CANONICAL)
@pytest.mark.parametrize("name", ["arrays", "french", "structures", "unicode", "values", "weird"])
def test_the_cases_of_rfc_8785(name: str) -> None:
    """The bytes that the authors of the RFC published."""
    value = json.loads((CANONICAL / "input" / f"{name}.json").read_bytes())
    wanted = bytes.fromhex((CANONICAL / "outhex" / f"{name}.txt").read_text())
    assert canonical_bytes(value) == wanted
