"""The command line: data on stdout, sentences on stderr, exit codes that mean something."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tachograph.console.cli.output import printable


def tachograph(*arguments: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tachograph.console.main", "--home", str(home), *arguments],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": "200", "NO_COLOR": "1"} | environment,
    )


def test_help_teaches_what_people_do(tmp_path: Path) -> None:
    """The first screen names the five things, and groups the commands."""
    answer = tachograph("--help", home=tmp_path)
    assert answer.returncode == 0
    assert answer.stdout.count("•") == 5
    for command in ("demo", "up", "runs", "report RUN", "console", "doctor"):
        assert f"tachograph {command}" in answer.stdout
    for panel in ("Start here", "Read what happened", "Prove it", "Run the pipeline", "Look after it"):
        assert panel in answer.stdout


def test_commands_are_completed(tmp_path: Path) -> None:
    """Two letters are enough for two candidates."""
    program = Path(sys.executable).parent / "tachograph"
    words = {"COMP_WORDS": "tachograph re", "COMP_CWORD": "1", "_TACHOGRAPH_COMPLETE": "complete_bash"}
    answer = subprocess.run(
        [program], check=False, capture_output=True, text=True, env=os.environ | words | {"HOME": str(tmp_path)}
    )
    assert {"report", "redact"} <= set(answer.stdout.split())


@pytest.mark.parametrize("terminal", [True, False], ids=["on a terminal", "in a file"])
def test_progress_is_for_people(tmp_path: Path, *, terminal: bool) -> None:
    """What goes on is told on stderr while it lasts, if somebody sits there; stdout is data in either case."""
    file = tmp_path / "stderr"
    ours, theirs = os.openpty() if terminal else (-1, os.open(file, os.O_CREAT | os.O_WRONLY))
    away = {
        "KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:9",
        "KAFKA__REQUEST_TIMEOUT_MS": "1500",
        "CLICKHOUSE__HTTP_PORT": "9",
    }
    answer = subprocess.run(
        [sys.executable, "-m", "tachograph.console.main", "--home", str(tmp_path), "doctor", "--json"],
        check=False,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm"} | {f"TACHOGRAPH_{name}": value for name, value in away.items()},
    )
    os.close(theirs)
    told = os.read(ours, 1 << 16).decode() if terminal else file.read_text(encoding="utf-8")
    assert ("looking at" in told) is terminal
    assert "checks failed" in told
    assert json.loads(answer.stdout)["ok"] is False


def test_no_color_is_heeded(tmp_path: Path) -> None:
    """Even where colours are forced, as CI systems do."""
    plain = tachograph("topics", "list", home=tmp_path, FORCE_COLOR="1")
    assert "\x1b[3" not in plain.stdout


def test_a_narrow_terminal_gets_a_list_for_each_row(tmp_path: Path) -> None:
    """Nothing is wider than the terminal, and nothing is torn into columns of three letters."""
    answer = tachograph("topics", "list", home=tmp_path, COLUMNS="50")
    assert answer.returncode == 0
    assert max(len(line.rstrip()) for line in answer.stdout.splitlines()) <= 50
    assert "tachograph.dlq.v1" in answer.stdout


def test_config_show_masks_secrets(tmp_path: Path) -> None:
    """Every setting is listed with its variable and meaning; a password is not shown, not even its length."""
    answer = tachograph(
        "config", "show", "--json", home=tmp_path, TACHOGRAPH_CLICKHOUSE__SINK_PASSWORD="hunter2-canary"
    )
    rows = {row["setting"]: row for row in json.loads(answer.stdout)}
    assert rows["clickhouse.sink_password"]["value"] == "********"
    assert rows["clickhouse.console_password"]["value"] == "(not set)"
    assert rows["kafka.partitions"]["variable"] == "TACHOGRAPH_KAFKA__PARTITIONS"
    assert all(row["meaning"] for row in rows.values())
    assert "canary" not in answer.stdout + answer.stderr


def test_a_wrong_setting_is_a_sentence_and_exit_code_2(tmp_path: Path) -> None:
    """No traceback, no value, the name of the variable."""
    answer = tachograph("config", "show", home=tmp_path, TACHOGRAPH_KAFKA__PARTITIONS="canary")
    assert answer.returncode == 2
    assert "TACHOGRAPH_KAFKA__PARTITIONS" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert "canary" not in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(("topics", "apply"), "Kafka at 127.0.0.1:9 cannot be used", id="topics without a broker"),
        pytest.param(("runs",), "ClickHouse at http://127.0.0.1:9 does not answer", id="runs without ClickHouse"),
        pytest.param(("report",), "ClickHouse at http://127.0.0.1:9 does not answer", id="report without ClickHouse"),
        pytest.param(("migrate",), "ClickHouse did not answer", id="migrate without ClickHouse"),
        pytest.param(("worker",), "no Kafka broker answered at 127.0.0.1:9", id="worker without a broker"),
        pytest.param(("sink",), "Kafka did not answer at 127.0.0.1:9", id="sink without its servers"),
        pytest.param(("alerts",), "Kafka did not answer at 127.0.0.1:9", id="alerts without a broker"),
    ],
)
def test_unreachable_servers_are_a_sentence(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    """What is missing, and what to do about it."""
    answer = tachograph(
        *arguments,
        home=tmp_path,
        TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS="127.0.0.1:9",
        TACHOGRAPH_KAFKA__REQUEST_TIMEOUT_MS="1500",
        TACHOGRAPH_CLICKHOUSE__HTTP_PORT="9",
    )
    assert answer.returncode == 1, answer.stderr
    assert sentence in answer.stderr
    assert "Traceback" not in answer.stderr
    assert not re.search("urllib3|clickhouse_connect", answer.stderr), "libraries say it again in words of their own"


def test_status_of_nothing(tmp_path: Path) -> None:
    """A folder without a stack is not an error."""
    answer = tachograph("status", "--json", home=tmp_path)
    assert answer.returncode == 0
    assert json.loads(answer.stdout)["running"] is False


def test_down_of_nothing(tmp_path: Path) -> None:
    """Stopping twice is harmless."""
    answer = tachograph("down", home=tmp_path)
    assert answer.returncode == 0
    assert "nothing was running" in answer.stderr


def test_topics_list_is_the_registry(tmp_path: Path) -> None:
    """JSON on stdout, nothing else."""
    answer = tachograph("topics", "list", "--json", home=tmp_path)
    names = [row["topic"] for row in json.loads(answer.stdout)]
    assert "tachograph.events.v1" in names
    assert answer.stderr == ""


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        pytest.param("\x1b[2Jgone", "\\x1b[2Jgone", id="escape sequence"),
        pytest.param("user\u202etxt.exe", "user\\u202etxt.exe", id="right-to-left override"),
        pytest.param("a\x00b", "a\\x00b", id="null byte"),
        pytest.param(None, "-", id="nothing"),
        pytest.param(1234567, "1,234,567", id="number"),
        pytest.param(True, "True", id="flag"),
    ],
)
def test_cells_cannot_drive_the_terminal(cell: object, shown: str) -> None:
    """What an agent wrote is shown, not obeyed."""
    assert printable(cell) == shown
