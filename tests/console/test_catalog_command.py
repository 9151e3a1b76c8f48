"""`tachograph catalog check`, from the outside."""

import json
from pathlib import Path

from tests.console.test_recorder_commands import tachograph

EXAMPLE = Path(__file__).parents[2] / "catalog" / "decisions"


def test_a_sound_catalog(tmp_path: Path) -> None:
    """Exit code 0, each document with its hash; --lock pins them."""
    (tmp_path / "keys.yaml").write_bytes((EXAMPLE / "keys.yaml").read_bytes())
    answer = tachograph("catalog", "check", str(tmp_path), "--json", "--lock")
    assert answer.returncode == 0
    (document,) = json.loads(answer.stdout)["documents"]
    assert document["reference"] == "sealing@1.0.0"
    assert (tmp_path / "catalog.lock").read_text() == f"key_set sealing@1.0.0 {document['hash']}\n"


def test_a_broken_catalog(tmp_path: Path) -> None:
    """Exit code 1, and stdout has what an editor jumps to."""
    (tmp_path / "a.yaml").write_text("kind: decision_spec\nkey: a.b\nversion: x\n")
    answer = tachograph("catalog", "check", str(tmp_path))
    assert answer.returncode == 1
    assert "a.yaml:3:10: version: " in answer.stdout
    assert "mend them" in answer.stderr
    assert "Traceback" not in answer.stderr
