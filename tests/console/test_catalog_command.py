"""`tachograph catalog check`, from the outside."""

import json
from pathlib import Path

import pytest

from tachograph.producers import load_terms
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


def test_terms_for_an_agent(tmp_path: Path) -> None:
    """A file that the recorder loads; what is meant must be said where the catalog leaves a choice."""
    asked = ("catalog", "terms", "coding.data.delete@1.0.0", str(EXAMPLE))
    named = ("--profile", "model_profile.coding@1.0.0", "--suite", "eval.coding@1.0.0")
    answer = tachograph(*asked, *named, "-o", str(tmp_path / "t.json"))
    assert answer.returncode == 0
    terms = load_terms(tmp_path / "t.json")
    assert terms.hash in answer.stderr
    assert (terms.pack_version, terms.governed_tools) == ("ctxpack.coding@1.0.0", ("database.delete*",))
    assert [f"{bundle.id}@{bundle.version}" for bundle in terms.policies] == ["POLICY_DATA@1.0.0"]
    assert tachograph(*asked, *named).stdout == (tmp_path / "t.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(("coding.data.delete@9.0.0",), "no decision spec coding.data.delete@9.0.0", id="no such spec"),
        pytest.param(("coding.data.delete@1.0.0",), "say which with --profile: model_profile.coding@1.0.0,", id="many"),
        pytest.param(
            ("coding.data.delete@1.0.0", "--profile", "gone@1.0.0", "--suite", "eval.coding@1.0.0"),
            "lacks a document",
            id="a document that is not there",
        ),
    ],
)
def test_terms_that_cannot_be_written(arguments: tuple[str, ...], sentence: str) -> None:
    """Exit code 1 or 2, one sentence, nothing on stdout."""
    decision, *options = arguments
    answer = tachograph("catalog", "terms", decision, str(EXAMPLE), *options)
    assert answer.returncode in (1, 2)
    assert sentence in answer.stderr.replace("\n", " ")
    assert (answer.stdout, "Traceback" in answer.stderr) == ("", False)


def test_a_broken_catalog(tmp_path: Path) -> None:
    """Exit code 1, and stdout has what an editor jumps to."""
    (tmp_path / "a.yaml").write_text("kind: decision_spec\nkey: a.b\nversion: x\n")
    answer = tachograph("catalog", "check", str(tmp_path))
    assert answer.returncode == 1
    assert "a.yaml:3:10: version: " in answer.stdout
    assert "mend them" in answer.stderr
    assert "Traceback" not in answer.stderr
