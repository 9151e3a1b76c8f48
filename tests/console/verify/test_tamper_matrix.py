"""The tamper matrix of docs/threat-model.md, on the library and on the one-file verifier alike."""

import json
import re
import runpy
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.console.verify import (
    Bundle,
    BundleError,
    read_bundle,
    report_bundle,
    verify_bundle,
    verify_log,
    write_bundle,
)
from tachograph.console.verify.log import MEANINGS, FindingCode
from tachograph.processors.sealing import KeyFile, checkpoint, recover
from tachograph.schemas.canonical import sealed_bytes
from tachograph.schemas.proofs import body_hash, signed_message
from tachograph.schemas.proofs.encoding import to_base64
from tachograph.schemas.proofs.heads import HeadOfLog, Heads
from tachograph.schemas.proofs.keys import KeyEntry, micros
from tachograph.schemas.proofs.sealed import SealedRecord
from tests.processors.sealing.logs import FIRST, KEYS, ROTATED, SIGNER, START, sealed_log

ONE_FILE = Path(__file__).parents[3] / "console/tachograph/console/verify/tachograph_verify.py"
LOG = sealed_log(6)
RECORDS = [item.record for item in LOG]
NOTE = checkpoint(LOG[-1].head, keys=KEYS, signer=SIGNER)
EARLY = checkpoint(LOG[2].head, keys=KEYS, signer=SIGNER)
OTHER = sealed_log(2, log="acme/1")
OTHER_NOTE = checkpoint(OTHER[-1].head, keys=KEYS, signer=SIGNER)
REWRITTEN = [*RECORDS[:3], *(i.record for i in sealed_log(3, start=START + 60_000_000, head=LOG[2].head))]
REWRITTEN_NOTE = checkpoint(recover("acme/0", REWRITTEN, KEYS), keys=KEYS, signer=SIGNER)
HEADS = Heads(
    "acme",
    ROTATED,
    (
        HeadOfLog("acme/0", LOG[-1].head.size, LOG[-1].head.root()),
        HeadOfLog("acme/1", OTHER[-1].head.size, OTHER[-1].head.root()),
    ),
)
HEADS_NOTE = HEADS.sign([(FIRST.note_key(HEADS.origin), lambda text: SIGNER.sign("key-1", text))])
FORGED_HEADS = HEADS_NOTE.replace("log acme/1 2 ", "log acme/1 3 ")
STRANGER = KeyFile({"key-1": b"\x0a" * 32})


def bundle(records: list[SealedRecord], *notes: str, keys: tuple[KeyEntry, ...] = KEYS.keys) -> Bundle:
    return Bundle({"acme/0": (records, notes or (EARLY, NOTE))}, keys)


def resigned(record: SealedRecord, signer: KeyFile = SIGNER, key_id: str = "key-1", **audit: object) -> SealedRecord:
    """A record whose seal was remade with a key that is at hand."""
    content = json.loads(record.body)
    content["audit"] |= {"signed_by": key_id, **audit}
    body = sealed_bytes(content)
    signature = to_base64(signer.sign(key_id, signed_message(body_hash(body))))
    return SealedRecord(body.decode(), body_hash(body), signature)


VERIFIER = runpy.run_path(str(ONE_FILE))
"""The one-file verifier, in this process: starting Python for each row would take longer than all of the checks."""


def one_file(evidence: Path, *anchors: str) -> Any:
    """What the one-file verifier says with the first key trusted."""
    if evidence.is_dir():
        report = VERIFIER["check"](lambda name: (evidence / name).read_text(), FIRST.public_key, list(anchors))
    else:
        report = VERIFIER["check_file"](evidence.read_text(), FIRST.public_key, list(anchors))
    return report.said()


@dataclass(frozen=True)
class Row:
    shown: Bundle
    caught: set[str]
    anchors: tuple[str, ...] = ()


FIRST_CHANGED = replace(RECORDS[1], body=RECORDS[1].body.replace("4200", "9200"))
RETIRED = resigned(RECORDS[5], sealed_at=ROTATED.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
MATRIX = {
    "untouched": Row(bundle(RECORDS), set(), (EARLY, NOTE)),
    "change a value": Row(bundle([RECORDS[0], FIRST_CHANGED, *RECORDS[2:]]), {"hash_mismatch"}),
    "change a value and its hash": Row(
        bundle([RECORDS[0], replace(FIRST_CHANGED, record_hash=body_hash(FIRST_CHANGED.body.encode())), *RECORDS[2:]]),
        {"signature_invalid", "wrong_place", "root_mismatch"},
    ),
    "drop one": Row(bundle([*RECORDS[:2], *RECORDS[3:]]), {"wrong_place", "root_mismatch", "log_too_short"}),
    "swap two": Row(bundle([RECORDS[1], RECORDS[0], *RECORDS[2:]]), {"wrong_place", "root_mismatch"}),
    "repeat one": Row(bundle([RECORDS[0], *RECORDS]), {"wrong_place", "root_mismatch"}),
    "insert one by a stranger": Row(
        bundle([*RECORDS, resigned(RECORDS[5], STRANGER, log_seq=6, prev_hash=RECORDS[5].record_hash)]),
        {"signature_invalid"},
    ),
    "insert one of another log": Row(bundle([*RECORDS, OTHER[0].record]), {"wrong_place"}),
    "cut the tail": Row(bundle(RECORDS[:4]), {"log_too_short"}),
    "cut the tail and the checkpoints over it": Row(bundle(RECORDS[:4], EARLY), {"log_too_short"}, (NOTE,)),
    "sign again with a retired key": Row(bundle([*RECORDS[:5], RETIRED]), {"key_not_effective", "root_mismatch"}),
    "sign with a key of no set": Row(
        bundle([*RECORDS[:5], resigned(RECORDS[5], KeyFile({"key-9": b"\x09" * 32}), "key-9")]),
        {"unknown_key", "root_mismatch"},
    ),
    "set the time back": Row(
        bundle([*RECORDS[:5], resigned(RECORDS[5], sealed_at="2026-05-09T09:31:45.999999Z")], EARLY), {"wrong_place"}
    ),
    "rewrite the end with the valid key": Row(bundle(REWRITTEN), {"root_mismatch"}),
    "rewrite the end and its checkpoints": Row(bundle(REWRITTEN, EARLY, REWRITTEN_NOTE), {"root_mismatch"}, (NOTE,)),
    "hide a partition": Row(bundle(RECORDS), {"log_missing"}, (OTHER_NOTE,)),
    "hide a partition that the heads record names": Row(bundle(RECORDS), {"log_missing"}, (HEADS_NOTE,)),
    "rewrite what a heads record has fixed": Row(
        bundle(REWRITTEN, EARLY, REWRITTEN_NOTE), {"root_mismatch", "log_missing"}, (HEADS_NOTE,)
    ),
    "a heads record by a stranger": Row(bundle(RECORDS), {"log_missing"}, (FORGED_HEADS,)),
    "show two auditors different logs": Row(bundle(RECORDS), {"root_mismatch"}, (REWRITTEN_NOTE,)),
    "a checkpoint of another log": Row(bundle(RECORDS, OTHER_NOTE), {"note_invalid"}),
    "a checkpoint by a stranger": Row(
        bundle(RECORDS, NOTE.replace(NOTE.rsplit(" ", 1)[1], to_base64(bytes(68)) + "\n")), {"note_invalid"}
    ),
    "lengthen the life of a retired key": Row(
        bundle(RECORDS, keys=(KEYS.keys[0].model_copy(update={"effective_until": None}), KEYS.keys[1])),
        {"keys_untrusted"},
    ),
    "other keys altogether": Row(
        bundle(RECORDS, keys=(FIRST.model_copy(update={"public_key": STRANGER.public("key-1")}),)), {"keys_untrusted"}
    ),
}


PAGE_ROWS = {
    "a bit flipped anywhere in a record": ("flip a bit",),
    "a value and its hash changed": ("change a value", "change a value and its hash"),
    "a record dropped, swapped, repeated": ("drop one", "swap two", "repeat one"),
    "a record inserted by someone without the key": ("insert one by a stranger",),
    "a record of another log inserted": ("insert one of another log",),
    "the tail cut off": ("cut the tail",),
    "the tail cut off, and the checkpoints over it too": ("cut the tail and the checkpoints over it",),
    "a record signed again with a retired key": ("sign again with a retired key",),
    "a record signed with a key of no set": ("sign with a key of no set",),
    "a time set back with the valid key": ("set the time back",),
    "the end rewritten with the valid key": ("rewrite the end with the valid key",),
    "the end rewritten with the valid key, and the checkpoints too": ("rewrite the end and its checkpoints",),
    "a partition hidden": ("hide a partition",),
    "a partition hidden, and the heads records left": ("hide a partition that the heads record names",),
    "two auditors shown different logs": ("show two auditors different logs",),
    "the life of a retired key lengthened": ("lengthen the life of a retired key",),
    "all keys replaced": ("other keys altogether",),
}
"""Rows of docs/threat-model.md, and those of the matrix that show them."""


@pytest.mark.parametrize("row", MATRIX.values(), ids=MATRIX.keys())
def test_each_row_is_caught_by_what_the_matrix_says(row: Row, tmp_path: Path) -> None:
    """Exactly the findings of the row, from both verifiers, which agree on every place."""
    report = report_bundle(row.shown, trusted_key=FIRST.public_key, anchors=row.anchors)
    assert {item.code.value for item in report.findings} == row.caught
    write_bundle(row.shown, tmp_path / "b")
    assert one_file(tmp_path / "b", *row.anchors) == report.as_json()


@pytest.mark.parametrize("name", ["cut the tail and the checkpoints over it", "rewrite the end and its checkpoints"])
def test_what_only_an_anchor_catches(name: str) -> None:
    """Without a checkpoint from elsewhere these pass: the page says so, and this shows it."""
    assert verify_bundle(MATRIX[name].shown, trusted_key=FIRST.public_key) == []


@given(st.integers(0, 5), st.sampled_from(["body", "record_hash", "signature"]), st.data())
def test_no_bit_of_a_sealed_record_can_flip(place: int, part: str, data: st.DataObject) -> None:
    """Whatever bit changes anywhere in a sealed record, that record is named."""
    text = bytearray(getattr(RECORDS[place], part).encode())
    text[data.draw(st.integers(0, len(text) - 1))] ^= 1 << data.draw(st.integers(0, 6))
    bent = [*RECORDS]
    bent[place] = replace(RECORDS[place], **{part: text.decode()})
    assert place in {item.place for item in verify_log("acme/0", bent, [], KEYS)}
    alone = VERIFIER["check"](bundle(bent).files().__getitem__, FIRST.public_key, [])
    assert place in {item["place"] for item in alone.findings}


def test_both_say_the_same_in_words() -> None:
    """Each code of the two has its sentence, and it is one."""
    assert {code.value: sentence for code, sentence in MEANINGS.items()} == VERIFIER["MEANINGS"]
    assert set(MEANINGS) == set(FindingCode)
    page = (ONE_FILE.parents[4] / "docs" / "verify.md").read_text(encoding="utf-8")
    assert [code.value for code in FindingCode if f"`{code.value}`" not in page] == []


def test_the_page_has_the_rows_of_the_matrix() -> None:
    """docs/threat-model.md promises for each row only what a test shows."""
    page = (ONE_FILE.parents[4] / "docs" / "threat-model.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (a |the |two |all )(.*?) \|", page, re.MULTILINE)
    assert len(rows) == len(PAGE_ROWS)
    assert {article + rest for article, rest in rows} == set(PAGE_ROWS)
    assert {name for names in PAGE_ROWS.values() for name in names} <= {*MATRIX, "flip a bit"}


def test_the_one_file_verifier_imports_nothing_of_ours() -> None:
    """An auditor who trusts none of us reads one file."""
    imported = re.findall(r"^\s*(?:import|from)\s+(\w+)", ONE_FILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(imported) - sys.stdlib_module_names == {"cryptography", "rfc8785"}


def test_the_one_file_verifier_as_its_user_starts_it(tmp_path: Path) -> None:
    """Isolated from everything installed beside it but its two packages: exit code, findings and basis."""
    row = MATRIX["cut the tail and the checkpoints over it"]
    write_bundle(row.shown, tmp_path / "b")
    (tmp_path / "note").write_text(row.anchors[0], encoding="utf-8")
    arguments = ["--trust", FIRST.public_key, "--anchor", str(tmp_path / "note"), "--json"]
    answer = subprocess.run(
        [sys.executable, "-I", str(ONE_FILE), str(tmp_path / "b"), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 1, answer.stderr
    assert json.loads(answer.stdout) == one_file(tmp_path / "b", *row.anchors)


def test_a_zip_is_a_bundle_too(tmp_path: Path) -> None:
    """Folder and zip hold the same; what is neither is refused with a sentence."""
    write_bundle(bundle(RECORDS), tmp_path / "b.zip")
    assert verify_bundle(read_bundle(tmp_path / "b.zip")) == []
    answer = subprocess.run(
        [sys.executable, "-I", str(ONE_FILE), str(tmp_path / "b.zip")], capture_output=True, check=False
    )
    assert answer.returncode == 0
    (tmp_path / "bad.zip").write_bytes(b"x")
    with pytest.raises(BundleError):
        read_bundle(tmp_path / "bad.zip")
    assert (
        subprocess.run(
            [sys.executable, "-I", str(ONE_FILE), str(tmp_path)], capture_output=True, check=False
        ).returncode
        == 2
    )


def test_records_over_a_rotation_verify() -> None:
    """A log that goes on under the next key verifies whole."""
    log = [*LOG, *sealed_log(2, start=micros(ROTATED), head=LOG[-1].head)]
    note = checkpoint(log[-1].head, keys=KEYS, signer=SIGNER)
    assert verify_log("acme/0", [item.record for item in log], [EARLY, NOTE, note], KEYS) == []
