"""`tachograph alerts`: a file of routes is checked before anything is read."""

import json
from pathlib import Path

from tests.console.test_cli import tachograph

DOCUMENT = Path(__file__).parents[2] / "docs" / "alerts.md"


def test_the_example_of_the_documentation_is_a_sound_file(tmp_path: Path) -> None:
    """What people copy works, and checking it shows no address."""
    text = DOCUMENT.read_text("utf-8")
    example = text[text.index("```yaml\n") + len("```yaml\n") :].partition("```")[0]
    path = tmp_path / "routes.yaml"
    path.write_text(example)
    answer = tachograph("alerts", "--check", "--json", "--routes", str(path), home=tmp_path)
    assert answer.returncode == 0, answer.stderr
    shown = json.loads(answer.stdout)
    assert [route["name"] for route in shown["routes"]] == ["pages", "team", "everything"]
    assert "http" not in answer.stdout
    table = tachograph("alerts", "--check", "--routes", str(path), home=tmp_path)
    assert "on-call (alertmanager)" in table.stdout


def test_a_wrong_file_is_a_sentence_and_exit_code_2(tmp_path: Path) -> None:
    """File, line and what is wrong."""
    path = tmp_path / "routes.yaml"
    path.write_text("receivers: []\nroutes: []\n")
    answer = tachograph("alerts", "--check", "--routes", str(path), home=tmp_path)
    assert answer.returncode == 2
    assert "routes.yaml:1:12: receivers" in answer.stderr
    assert "Traceback" not in answer.stderr
