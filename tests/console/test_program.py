"""What we tell people to type works where they are."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tachograph.console.cli.output import program


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the folder of an environment, called by its path; the shell finds none by name."""
    path = tmp_path / "my project" / ".venv" / "bin" / "tachograph"
    path.parent.mkdir(parents=True)
    shutil.copy(sys.executable, path)
    monkeypatch.setattr(sys, "argv", [str(path), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return path


def test_by_name_where_the_shell_finds_it(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that is active, or an installation for everybody."""
    monkeypatch.setenv("PATH", os.pathsep.join(["/nowhere", str(installed.parent)]))
    assert program() == "tachograph"


def test_by_path_where_it_does_not(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the folder one is in, and quoted as a shell needs it."""
    monkeypatch.chdir(installed.parents[2])
    assert program() == ".venv/bin/tachograph"
    monkeypatch.chdir(installed.parents[3])
    assert program() == "'my project/.venv/bin/tachograph'"


def test_by_whole_path_from_elsewhere(installed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A way up and down again is longer than the whole one."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert program() == f"'{installed.resolve()}'"


def test_another_program_of_that_name(installed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the shell finds must be this one."""
    other = tmp_path / "other" / "tachograph"
    other.parent.mkdir()
    shutil.copy(installed, other)
    monkeypatch.setenv("PATH", str(other.parent))
    monkeypatch.chdir(installed.parents[2])
    assert program() == ".venv/bin/tachograph"
    monkeypatch.chdir(installed.parent)
    assert program() == "./tachograph"
