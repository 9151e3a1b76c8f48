"""A small git repository in a scratch folder, with a bug in it and tests that find it. Everything in it is real."""

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tachograph.schemas.errors import TachographError

CI_FILE: Final = ".github/workflows/ci.yml"
SETTINGS_FILE: Final = "config/upstream.ini"

TOKEN: Final = "ghp_" + hashlib.sha256(b"the demo's token opens nothing").hexdigest()[:36]
"""Has the form of a secret, and is none. Made here, so that no scanner finds one in the sources."""

TEST_COMMAND: Final = "python -m unittest discover -s tests -t ."
SUITE_WAIT_S: Final = 0.3
"""How long the integration suite is really waited for. It would wait for ever."""

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
    "integration/suite.py": '''"""Waits for the upstream service, which is not there."""

import socket

listening = socket.create_server(("127.0.0.1", 0))
listening.accept()
''',
    CI_FILE: f"""name: build
on: [push]
jobs:
  build:
    steps:
      - run: python -m compileall src
      - run: {TEST_COMMAND}
""",
    SETTINGS_FILE: f"""[upstream]
url = https://upstream.example/v1
token = {TOKEN}
""",
}
_TEST_TIMEOUT_S: Final = 60.0
_RAN: Final = re.compile(r"^Ran (\d+) tests?", re.MULTILINE)
_WRONG: Final = re.compile(r"(?:failures|errors)=(\d+)")

_IDENTITY: Final = {
    # The same commits on every machine: nobody's name, nobody's clock, nobody's settings.
    "GIT_AUTHOR_NAME": "demo-coder",
    "GIT_AUTHOR_EMAIL": "demo-coder@example.invalid",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "demo-coder",
    "GIT_COMMITTER_EMAIL": "demo-coder@example.invalid",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


class NoGitError(TachographError):
    """The demo's agent works on a git repository, and there is no git. Install it."""


@dataclass(frozen=True, slots=True)
class Tested:
    """What a test run came to."""

    exit_code: int
    passed: int
    failed: int


class Workspace:
    """The repository, and a remote beside it. Paths are relative, so that no record names a folder of this machine."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("git") is None:
            raise NoGitError("the demo's agent works on a git repository: install git and run it again")
        self.folder = folder / "parser"
        self._remote = folder / "remote.git"
        self._deployed = folder / "deployed"
        for path, text in _FILES.items():
            self.write(path, text)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("init", "--quiet", "--bare", str(self._remote))
        self.git("remote", "add", "origin", str(self._remote))
        self.commit("A parser, a client and their tests")
        self.git("push", "--quiet", "origin", "main")

    def start_branch(self, name: str) -> None:
        """Go back to what everybody has, on a branch of one's own."""
        self.git("checkout", "--quiet", "--force", "-B", name, "main")
        self.git("clean", "--quiet", "--force", "-d", "-x")

    def read(self, path: str) -> str:
        """Text of a file."""
        return (self.folder / path).read_text(encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        """Make or replace a file."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def sources(self) -> dict[str, str]:
        """Every Python file that has something in it, by path."""
        files = sorted(path for path in self.folder.rglob("*.py") if path.stat().st_size)
        return {path.relative_to(self.folder).as_posix(): path.read_text(encoding="utf-8") for path in files}

    def search(self, pattern: str) -> str:
        """Lines with a text, as git finds them."""
        return self.git("grep", "--line-number", "--fixed-strings", "-e", pattern, "--", "src", "tests", may_fail=True)

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

    def run_suite(self, complaint: str) -> None:
        """Run the integration suite, which hangs. Raises TimeoutError with the complaint once it has been ended."""
        command = [sys.executable, "-I", "-B", "integration/suite.py"]
        try:
            subprocess.run(command, cwd=self.folder, capture_output=True, timeout=SUITE_WAIT_S, check=False)  # noqa: S603 - as above
        except subprocess.TimeoutExpired:
            raise TimeoutError(complaint) from None

    def commit(self, message: str) -> str:
        """Commit everything. Returns the hash."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD").strip()

    def push(self) -> str:
        """Push the branch. Returns its name."""
        self.git("push", "--quiet", "--force", "origin", "HEAD")
        return self.git("branch", "--show-current").strip()

    def merge(self) -> None:
        """Somebody reviewed the branch, and now it is what everybody has."""
        self.git("branch", "--quiet", "--force", "main", "HEAD")
        self.git("push", "--quiet", "origin", "main")

    def diff_to_main(self) -> str:
        """What the branch changes."""
        return self.git("diff", "main", "HEAD")

    def build(self, version: str) -> str:
        """Pack the committed sources. Returns the SHA-256 of the build, which is kept beside the repository."""
        packed = self._git("archive", "--format=tar", "HEAD", "src")
        (self._deployed / "builds").mkdir(parents=True, exist_ok=True)
        (self._deployed / "builds" / f"{version}.tar").write_bytes(packed)
        return hashlib.sha256(packed).hexdigest()

    def deploy(self, target: str) -> str:
        """Unpack the committed sources where the target runs, and see whether they start. Returns their commit."""
        place = self._deployed / target
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        with tarfile.open(fileobj=io.BytesIO(self._git("archive", "--format=tar", "HEAD", "src"))) as packed:
            packed.extractall(place, filter="data")
        start = [sys.executable, "-B", "-c", "import src.parser"]
        subprocess.run(start, cwd=place, capture_output=True, timeout=_TEST_TIMEOUT_S, check=True)  # noqa: S603 - as above
        return self.git("rev-parse", "--short=12", "HEAD").strip()

    def targets(self) -> list[str]:
        """Where something is deployed."""
        return sorted(place.name for place in self._deployed.glob("*") if place.name != "builds")

    def git(self, *arguments: str, may_fail: bool = False) -> str:
        """Run git in the repository. Returns what it prints."""
        return self._git(*arguments, may_fail=may_fail).decode()

    def _git(self, *arguments: str, may_fail: bool = False) -> bytes:
        command = ["git", "-c", "commit.gpgSign=false", "-c", "core.autocrlf=false", *arguments]
        foreign = {name for name in os.environ if name.startswith("GIT_")}
        environment = {name: value for name, value in os.environ.items() if name not in foreign} | _IDENTITY
        done = subprocess.run(  # noqa: S603 - git, with arguments of ours
            command, cwd=self.folder, capture_output=True, timeout=_TEST_TIMEOUT_S, check=not may_fail, env=environment
        )
        return done.stdout
