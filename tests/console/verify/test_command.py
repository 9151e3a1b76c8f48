"""`tachograph verify`, from the outside."""

import json
import subprocess
import sys
from pathlib import Path

from tachograph.console.verify import write_bundle
from tachograph.console.verify.log import MEANINGS, FindingCode
from tests.console.test_recorder_commands import tachograph
from tests.console.verify.test_tamper_matrix import MATRIX, ONE_FILE
from tests.processors.sealing.logs import FIRST


def test_a_bundle_that_holds(tmp_path: Path) -> None:
    """Exit code 0, and a reminder when nothing from elsewhere was given to compare with."""
    write_bundle(MATRIX["untouched"].shown, tmp_path / "b.zip")
    answer = tachograph("verify", str(tmp_path / "b.zip"), "--json")
    assert answer.returncode == 0
    assert json.loads(answer.stdout) == {
        "records": 6,
        "findings": [],
        "basis": {"anchor": 0, "checkpoint": 6, "chain": 0},
        "keys": {"key_retired_since": 6},
        "not_shown": [],
    }
    assert "vouches for its own keys" in answer.stderr


def test_a_bundle_that_does_not(tmp_path: Path) -> None:
    """Exit code 1 and the findings; an anchor counts."""
    row = MATRIX["rewrite the end and its checkpoints"]
    write_bundle(row.shown, tmp_path / "b")
    (tmp_path / "note").write_text(row.anchors[0], encoding="utf-8")
    answer = tachograph(
        "verify", str(tmp_path / "b"), "--trust", FIRST.public_key, "--anchor", str(tmp_path / "note"), "--json"
    )
    assert answer.returncode == 1
    assert [item["code"] for item in json.loads(answer.stdout)["findings"]] == ["root_mismatch"]


def test_what_does_not_hold_is_said_in_words(tmp_path: Path) -> None:
    """Where, by which code, and what it means; the one-file verifier says the same."""
    write_bundle(MATRIX["change a value"].shown, tmp_path / "b")
    answer = tachograph("verify", str(tmp_path / "b"), "--trust", FIRST.public_key)
    assert "log acme/0, number 1" in answer.stdout
    assert MEANINGS[FindingCode.HASH_MISMATCH] in answer.stdout
    assert "6 records: 1 finding;" in answer.stderr
    alone = subprocess.run(
        [sys.executable, "-I", str(ONE_FILE), str(tmp_path / "b"), "--trust", FIRST.public_key],
        capture_output=True,
        text=True,
        check=False,
    )
    assert alone.stdout == f"log acme/0, number 1: hash_mismatch: {MEANINGS[FindingCode.HASH_MISMATCH]}\n"
    assert "6 records: 1 finding\n" in alone.stderr


def test_what_is_no_bundle(tmp_path: Path) -> None:
    """A sentence, no traceback."""
    answer = tachograph("verify", str(tmp_path))
    assert answer.returncode == 1
    assert "not an evidence bundle" in answer.stderr
    assert "Traceback" not in answer.stderr
