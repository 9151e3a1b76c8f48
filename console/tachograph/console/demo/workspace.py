"""A small repository in a scratch folder, with a bug in it and tests that find it."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FILES: Final = {
    "src/__init__.py": "",
    "src/parser.py": '''"""Splits a text into tokens."""


def parse(text: str) -> list[str]:
    """The tokens of a text, in order."""
    tokens = text.split()
    return tokens[:-1]
''',
    "src/client.py": '''"""Asks the upstream service."""

TIMEOUT_S = 30
''',
    "tests/__init__.py": "",
    "tests/test_parser.py": '''"""Every token of a text comes back from the parser."""

import unittest

from src.parser import parse


class TestParse(unittest.TestCase):
    def test_nothing(self) -> None:
        self.assertEqual(parse(""), [])

    def test_one_token(self) -> None:
        self.assertEqual(parse("a"), ["a"])

    def test_the_last_token(self) -> None:
        self.assertEqual(parse("a b c"), ["a", "b", "c"])
''',
}
TEST_COMMAND: Final = "python -m unittest discover -s tests -t ."
_TEST_TIMEOUT_S: Final = 60.0
_RAN: Final = re.compile(r"^Ran (\d+) tests?", re.MULTILINE)
_WRONG: Final = re.compile(r"(?:failures|errors)=(\d+)")


@dataclass(frozen=True, slots=True)
class Tested:
    """What a test run came to."""

    exit_code: int
    passed: int
    failed: int


class Workspace:
    """The repository. Paths are relative to it, so that no record names a folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for path, text in _FILES.items():
            self.write(path, text)

    def read(self, path: str) -> str:
        """Text of a file."""
        return (self.folder / path).read_text(encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        """Make or replace a file."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def sources(self) -> dict[str, str]:
        """Every file that has something in it, by path."""
        files = sorted(path for path in self.folder.rglob("*.py") if path.stat().st_size)
        return {path.relative_to(self.folder).as_posix(): path.read_text(encoding="utf-8") for path in files}

    def run_tests(self) -> Tested:
        """Run the repository's tests for real, in a process of their own."""
        done = subprocess.run(  # noqa: S603 - our own interpreter on our own files
            # Isolated, and without compiled files: an edit within the clock's second would go unseen.
            [sys.executable, "-I", "-B", *TEST_COMMAND.split()[1:]],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=_TEST_TIMEOUT_S,
            check=False,
        )
        ran = _RAN.search(done.stderr)
        failed = sum(int(count) for count in _WRONG.findall(done.stderr))
        return Tested(done.returncode, passed=(int(ran[1]) if ran else 0) - failed, failed=failed)
