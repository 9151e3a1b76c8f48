"""`tachograph redact` and `tachograph spool`: the recorder's safety nets, from the outside."""

import inspect as inspect_code
import json
import os
import subprocess
import sys
from pathlib import Path

import typer
from typer.main import get_command

from tachograph.console.cli.app import app
from tachograph.producers import Tracer
from tachograph.producers.spool import SpoolOptions, SpoolPublisher, inspect
from tachograph.schemas.settings import KafkaSettings

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


NOWHERE = "127.0.0.1:9"


def leave_records(folder: Path) -> None:
    """A process that ends without having met a broker."""
    options = SpoolOptions(folder=folder, exit_timeout=0)
    publisher = SpoolPublisher(options, kafka=KafkaSettings(bootstrap_servers=NOWHERE), start=False)
    with Tracer("left-behind", publisher=publisher) as tracer, tracer.start_run("hello"):
        pass


def test_inspecting_what_a_process_left(tmp_path: Path) -> None:
    """How much waits, whose it is, and what to do about it."""
    leave_records(tmp_path)
    answer = tachograph("spool", "inspect", str(tmp_path))
    assert answer.returncode == 0
    assert "gone" in answer.stdout
    assert f"2 messages wait in {tmp_path}" in answer.stderr
    assert "tachograph spool drain" in answer.stderr


def test_draining_without_a_broker_says_what_is_missing(tmp_path: Path) -> None:
    """Exit code 1, the address that did not answer, what to do next; no flood of the Kafka client's own lines."""
    leave_records(tmp_path)
    answer = tachograph("spool", "drain", str(tmp_path), "--patience", "1", TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS=NOWHERE)
    assert answer.returncode == 1
    assert f"is there a broker at {NOWHERE}" in answer.stderr
    assert "tachograph up" in answer.stderr
    assert answer.stderr.count("Connection refused") < 5
    assert inspect(tmp_path).waiting == 2


def test_every_command_that_runs_an_agent_takes_audit() -> None:
    """A command runs an agent if its module makes a tracer or plays the demo's stories."""
    runs_agents = {
        name: command
        for name, command in get_command(app).commands.items()  # type: ignore[attr-defined]
        if (source := inspect_code.getsource(inspect_code.getmodule(command.callback) or typer))
        and ("record_stories" in source or "Tracer(" in source)
        if command.callback is not None
    }
    assert "demo" in runs_agents
    for command in runs_agents.values():
        assert "--audit" in [option for parameter in command.params for option in parameter.opts]
