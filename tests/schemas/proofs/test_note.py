"""Signed notes and checkpoints, byte for byte as C2SP has them, and the chain's hashes and signatures."""

import base64
import json
from importlib.resources import files
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from tachograph.schemas.proofs import (
    NoteError,
    NoteKey,
    ProofError,
    TreeHead,
    body_hash,
    leaf_of,
    open_checkpoint,
    open_note,
    sign_checkpoint,
    sign_note,
    signed_message,
)
from tachograph.schemas.proofs.encoding import from_base64

VECTORS: dict[str, Any] = json.loads(files("tachograph.schemas").joinpath("vectors", "proofs.json").read_text("utf-8"))
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(VECTORS["private_key_seed_hex"]))
KEY = NoteKey("tachograph/acme/0", PRIVATE.public_key().public_bytes_raw())
OTHER = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
OTHER_KEY = NoteKey("witness.example", OTHER.public_key().public_bytes_raw())
NOTE = sign_note("one\n\ntwo\n", [(KEY, PRIVATE.sign)])


def test_the_layout_of_a_note() -> None:
    """Text, an empty line, an em dash, the name, the key id and signature in base64."""
    text, line = NOTE.rsplit("\n\n", 1)
    assert text == "one\n\ntwo"
    dash, name, encoded = line.rstrip("\n").split(" ")
    assert (dash, name) == ("\N{EM DASH}", KEY.name)
    decoded = base64.b64decode(encoded)
    assert decoded[:4] == KEY.id
    assert decoded[4:] == PRIVATE.sign(b"one\n\ntwo\n")


def test_the_published_checkpoint() -> None:
    """The vector's note opens to its head; signing that head gives the same bytes."""
    head, opened = open_checkpoint(VECTORS["checkpoint"], [KEY], origin="tachograph/acme/0")
    assert opened.signed_by == (KEY,)
    assert head.size == len(VECTORS["records"])
    assert base64.b64encode(head.root).decode() == VECTORS["records"][-1]["root_with_it"]
    assert sign_checkpoint(head, [(KEY, PRIVATE.sign)]) == VECTORS["checkpoint"]
    assert KEY.vkey() == VECTORS["verifier_key"]
    assert NoteKey.parse(VECTORS["verifier_key"]) == KEY


@pytest.mark.parametrize("row", VECTORS["records"], ids=lambda row: row["record_hash"][:15])
def test_the_published_records(row: dict[str, str]) -> None:
    """Hash, leaf and signature of each body."""
    assert body_hash(row["body"].encode()) == row["record_hash"]
    assert base64.b64encode(leaf_of(row["record_hash"])).decode() == row["leaf_hash"]
    assert KEY.verifies(base64.b64decode(row["signature"]), signed_message(row["record_hash"]))


def test_two_signers() -> None:
    """Either key opens a note that both signed; a stranger's key opens nothing."""
    note = sign_note("x\n", [(KEY, PRIVATE.sign), (OTHER_KEY, OTHER.sign)])
    assert open_note(note, [OTHER_KEY]).signed_by == (OTHER_KEY,)
    assert open_note(note, [KEY, OTHER_KEY]).signed_by == (KEY, OTHER_KEY)
    with pytest.raises(NoteError, match="no trusted key"):
        open_note(note, [NoteKey("witness.example", KEY.public)])


def test_a_known_key_that_fails_spoils_the_note() -> None:
    """One good signature does not excuse a bad one of a key we trust."""
    good = sign_note("x\n", [(KEY, PRIVATE.sign)])
    bad = sign_note("y\n", [(OTHER_KEY, OTHER.sign)]).rsplit("\n\n", 1)[1]
    assert open_note(good + bad, [KEY]).text == "x\n"
    with pytest.raises(NoteError, match="does not verify"):
        open_note(good + bad, [KEY, OTHER_KEY])


@pytest.mark.parametrize(
    "note",
    [
        pytest.param("", id="empty"),
        pytest.param("text\n", id="no signature"),
        pytest.param("text\n\n", id="no line after the blank one"),
        pytest.param(NOTE.rstrip("\n"), id="no newline at the end"),
        pytest.param(NOTE.replace("two", "t\two"), id="a tab in the text"),
        pytest.param(NOTE.replace("\N{EM DASH}", "-"), id="a hyphen for the dash"),
        pytest.param(NOTE.replace("\N{EM DASH} ", "\N{EM DASH}  "), id="two spaces"),
        pytest.param(NOTE[:-3] + "\n", id="base64 cut short"),
        pytest.param("text\n\n\N{EM DASH} name AAAAAA==\n", id="a signature of four bytes"),
        pytest.param(b"\xff\n\n\n", id="not UTF-8"),
        pytest.param("x" * 70_000 + "\n\n\n", id="too large"),
        pytest.param("x\n\n" + "\N{EM DASH} name AAAAAAAA\n" * 101, id="too many signatures"),
    ],
)
def test_what_is_no_note(note: str | bytes) -> None:
    """Each malformation is refused."""
    with pytest.raises(NoteError):
        open_note(note, [KEY])


@given(st.integers(0, len(VECTORS["checkpoint"].encode()) - 1), st.integers(0, 7))
def test_no_bit_of_a_note_can_flip(place: int, bit: int) -> None:
    """Whatever bit changes in a signed checkpoint, it no longer opens."""
    bent = bytearray(VECTORS["checkpoint"].encode())
    bent[place] ^= 1 << bit
    with pytest.raises(NoteError):
        open_checkpoint(bytes(bent), [KEY], origin="tachograph/acme/0")


@pytest.mark.parametrize(
    "text",
    [
        "log\n1\n",
        "log\n01\n" + "A" * 43 + "=\n",
        "log\n-1\n" + "A" * 43 + "=\n",
        "log\n1\nAAAA\n",
        "\n1\nx\n",
        "log\n1\nx",
    ],
)
def test_what_is_no_checkpoint(text: str) -> None:
    """Too few lines, sizes with another spelling, roots of another length."""
    with pytest.raises(NoteError):
        TreeHead.parse(text)


def test_extension_lines_are_passed_over() -> None:
    """A checkpoint may say more; the first three lines are its meaning."""
    head = TreeHead("log", 0, b"\x00" * 32)
    assert TreeHead.parse(head.text() + "more\n") == head


def test_a_checkpoint_of_another_log_is_refused() -> None:
    """The same key may sign two logs; one's head is not the other's."""
    with pytest.raises(NoteError, match="another log"):
        open_checkpoint(VECTORS["checkpoint"], [KEY], origin="tachograph/acme/1")


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\N{NO-BREAK SPACE}b", "a\nb"])
def test_names_a_key_cannot_have(name: str) -> None:
    """A name that would change the layout of a note is refused."""
    with pytest.raises(NoteError):
        NoteKey(name, KEY.public)


@pytest.mark.parametrize("vkey", ["a", "a+00000000+AQ==", KEY.vkey().replace("+", "+0", 1), "a+b+*"])
def test_what_is_no_verifier_key(vkey: str) -> None:
    """The id must be that of the name and the key."""
    with pytest.raises(NoteError):
        NoteKey.parse(vkey)


def test_a_signer_that_lies_is_caught() -> None:
    """A signature that does not verify never leaves."""
    with pytest.raises(NoteError, match="does not verify"):
        sign_note("x\n", [(KEY, OTHER.sign)])
    with pytest.raises(NoteError, match="needs a signature"):
        sign_note("x\n", [])


def test_base64_has_one_spelling() -> None:
    """Spare bits that decoders ignore are refused: they could flip unseen."""
    assert from_base64("AA==") == b"\x00"
    for text in ("AB==", "AA", "AA==\n", "é"):
        with pytest.raises(NoteError):
            from_base64(text)


@pytest.mark.parametrize("text", ["", "sha256:", "sha256:" + "A" * 64, "sha256:" + "0" * 63, "0" * 64])
def test_what_is_no_record_hash(text: str) -> None:
    """One spelling of a hash, too."""
    with pytest.raises(ProofError):
        leaf_of(text)


def test_a_record_signature_is_no_note_signature() -> None:
    """What is signed of a record can be the text of no note, so that one key may sign both."""
    with pytest.raises((NoteError, UnicodeDecodeError)):
        sign_note(signed_message(body_hash(b"{}")).decode("latin-1"), [(KEY, PRIVATE.sign)])
