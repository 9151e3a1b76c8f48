"""docs/cli.md tells what the program does: its commands, their options, and what ``--json`` prints."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tachograph.console.cli.app import app
from tachograph.console.cli.json_shapes import SHAPES
from tachograph.console.cli.reference import commands, reference, takes_json

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
COMMANDS = dict(commands())
CATALOG = Path(__file__).parents[2] / "catalog" / "decisions"


def test_the_page_is_what_the_program_says() -> None:
    """Write it with: python -m tachograph.console.cli.reference > docs/cli.md."""
    assert PAGE.read_text(encoding="utf-8") == reference()


def test_every_shape_is_one_of_a_command_with_json() -> None:
    """No shape of a command that is gone, or that prints no JSON."""
    assert {name for name in SHAPES if name not in COMMANDS or not takes_json(COMMANDS[name])} == set()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_option_says_what_it_is(name: str) -> None:
    """A sentence for the command, and one for each of its options."""
    command = COMMANDS[name]
    assert (command.help or "").strip().rstrip(".`")
    assert all(getattr(item, "help", None) for item in command.params)


OFFLINE: list[Any] = [
    pytest.param("catalog check", (str(CATALOG),), "", id="catalog check"),
    pytest.param("config show", (), "", id="config show"),
    pytest.param("redact", (), "no secret", id="redact"),
    pytest.param("rules check", (), "", id="rules check"),
    pytest.param("rules list", (), "", id="rules list"),
    pytest.param("slo list", (), "", id="slo list"),
    pytest.param("spool inspect", ("{home}/spool",), "", id="spool inspect"),
    pytest.param("status", (), "", id="status"),
    pytest.param("topics list", (), "", id="topics list"),
]


@pytest.mark.parametrize(("name", "arguments", "stdin"), OFFLINE)
def test_json_has_the_documented_keys(name: str, arguments: tuple[str, ...], stdin: str, tmp_path: Path) -> None:
    """The keys and their order, on stdout and alone there."""
    (tmp_path / "spool").mkdir()
    given = [part.format(home=tmp_path) for part in arguments]
    answer = CliRunner().invoke(
        app, [*name.split(), *given, "--json"], input=stdin, env={"TACHOGRAPH_HOME": str(tmp_path)}
    )
    assert answer.exit_code == 0, answer.output
    check_shape(name, answer.stdout)


def check_shape(name: str, printed: str) -> None:
    """Compare what a command printed with its documented shape."""
    shape = SHAPES[name]
    documents = [json.loads(line) for line in printed.splitlines()] if shape.form == "lines" else json.loads(printed)
    rows = documents if shape.form in {"list", "lines"} else [documents]
    assert isinstance(rows, list)
    assert rows
    assert all(set(row) == set(shape.keys) for row in rows if shape.keys)
