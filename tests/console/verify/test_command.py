"""`tachograph verify`, from the outside."""

import json
from pathlib import Path

from tachograph.console.verify import write_bundle
from tests.console.test_recorder_commands import tachograph
from tests.console.verify.test_tamper_matrix import MATRIX
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


def test_what_is_no_bundle(tmp_path: Path) -> None:
    """A sentence, no traceback."""
    answer = tachograph("verify", str(tmp_path))
    assert answer.returncode == 1
    assert "not an evidence bundle" in answer.stderr
    assert "Traceback" not in answer.stderr
