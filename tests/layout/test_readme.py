"""The README tells the truth: its program is the example, its commands exist, its links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_first_program_is_the_example_that_is_tested() -> None:
    """What a newcomer copies is what tests/producers/test_example.py runs."""
    assert (ROOT / "examples/first_program.py").read_text(encoding="utf-8") in README


@pytest.mark.parametrize("target", sorted(set(re.findall(r"(?:`|^)make ([a-z]+)", README, re.MULTILINE))))
def test_every_make_target_exists(target: str) -> None:
    """No command of the README is missing from the Makefile."""
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_every_link_leads_somewhere(link: str) -> None:
    """Relative links only, and each exists."""
    assert (ROOT / link).exists()


def test_every_command_of_the_table_exists() -> None:
    """`tachograph X` in the README is a command of the program."""
    from typer.main import get_command  # noqa: PLC0415 - the command line is imported for this test only

    from tachograph.console.cli.app import app  # noqa: PLC0415

    known = set(get_command(app).commands)  # type: ignore[attr-defined]  # a group has commands
    named = set(re.findall(r"`tachograph ([a-z]+)", README))
    assert named <= known


def test_the_program_is_found_under_its_name() -> None:
    """The entry point is installed."""
    answer = subprocess.run(
        [Path(sys.executable).parent / "tachograph", "--help"], check=False, capture_output=True, text=True
    )
    assert answer.returncode == 0
