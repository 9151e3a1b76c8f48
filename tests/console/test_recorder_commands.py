"""`tachograph redact` and `tachograph spool`: the recorder's safety nets, from the outside."""

import json
import os
import subprocess
import sys
from pathlib import Path

CANARY = "AKIA" + "IOSFODNN7CANARYX"


def tachograph(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tachograph.console.main", *arguments],
        check=False,
        capture_output=True,
        text=True,
        input=stdin,
        env=os.environ | {"COLUMNS": "200", "NO_COLOR": "1"} | environment,
    )


def test_redact_shows_what_would_be_stored() -> None:
    """The text goes to stdout with placeholders, the rules that fired to stderr, the secret nowhere."""
    answer = tachograph("redact", stdin=f"deploy with {CANARY} please")
    assert answer.returncode == 0
    assert answer.stdout.startswith("deploy with [REDACTED:")
    assert answer.stdout.endswith("] please")
    assert CANARY not in answer.stdout + answer.stderr
    assert ": 1" in answer.stderr


def test_redact_as_json() -> None:
    """Counts by rule, for a pipe."""
    answer = tachograph("redact", "--json", stdin=f"{CANARY} and nothing else")
    assert sum(json.loads(answer.stdout)["redactions"].values()) == 1


def test_redact_leaves_harmless_text_alone() -> None:
    """What has no secret is not touched."""
    answer = tachograph("redact", stdin="just a sentence\n")
    assert answer.stdout == "just a sentence\n"
    assert "nothing was redacted" in answer.stderr


def test_a_broken_rule_file_is_a_sentence(tmp_path: Path) -> None:
    """The file and what is wrong with it, no traceback."""
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rules]]\nid = "x"\nregex = "("\n')
    answer = tachograph("redact", "--rules", str(rules), stdin="x")
    assert answer.returncode == 2
    assert "x" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_inspecting_an_empty_spool(tmp_path: Path) -> None:
    """A folder that is not there holds nothing."""
    answer = tachograph("spool", "inspect", str(tmp_path / "none"), "--json")
    assert json.loads(answer.stdout)["waiting"] == 0


def test_draining_an_empty_spool_needs_no_broker(tmp_path: Path) -> None:
    """Nothing to send is success."""
    answer = tachograph("spool", "drain", str(tmp_path / "none"), TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS="127.0.0.1:9")
    assert answer.returncode == 0, answer.stderr
    assert "0 messages sent" in answer.stderr
