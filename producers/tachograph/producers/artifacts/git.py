"""What git says changed. No shell, no hooks, no filters of the repository, bounded time and output."""

import os
import re
import subprocess
import threading
from pathlib import Path
from typing import Final

from tachograph.producers.artifacts.errors import GitError

__all__ = ["MAX_OUTPUT", "commit_message", "diff_of"]

MAX_OUTPUT: Final = 8 * 1024 * 1024
"""Bytes of a diff that are read; more than redaction takes by default would be dropped anyway."""

_TIMEOUT_S: Final = 10.0
_REVISION: Final = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_./~^@{}-]{0,199}")
# A repository is input like any other: what its configuration would run is switched off.
_SAFE: Final = ("-c", "core.fsmonitor=false", "-c", "core.quotepath=false", "-c", "core.hooksPath=/dev/null")
_DIFF: Final = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")


def diff_of(repo: Path, *, path: str | None = None, commit: str | None = None) -> str:
    """Return the diff of a commit, or of the working tree against HEAD; of one path or of all. Raises GitError."""
    paths = ("--", path) if path is not None else ("--",)
    if commit is not None:
        return _git(repo, "show", "--format=", *_DIFF, "--end-of-options", _revision(commit), *paths)
    return _git(repo, "diff", *_DIFF, "HEAD", *paths)


def commit_message(repo: Path, commit: str) -> tuple[str, str]:
    """Return a commit's full hash and its message. Raises GitError."""
    answer = _git(repo, "show", "--no-patch", "--format=%H%n%B", "--end-of-options", _revision(commit))
    full, _, message = answer.partition("\n")
    return full, message.strip()


def _revision(commit: str) -> str:
    if not _REVISION.fullmatch(commit):
        raise GitError("that is not the name of a commit")
    return commit


def _git(repo: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        process = subprocess.Popen(  # noqa: S603 - a fixed program; revisions and paths cannot be read as options
            ["git", *_SAFE, "--no-pager", "--literal-pathspecs", *arguments],  # noqa: S607 - the git the agent uses
            cwd=repo,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, ValueError):
        raise GitError("git cannot be started in that folder") from None
    timer = threading.Timer(_TIMEOUT_S, process.kill)
    timer.daemon = True
    timer.start()
    try:
        with process:
            assert process.stdout is not None
            output = process.stdout.read(MAX_OUTPUT + 1)
            process.stdout.close()
            if len(output) > MAX_OUTPUT:
                process.kill()
    finally:
        timer.cancel()
    if len(output) > MAX_OUTPUT:
        raise GitError(f"the diff is over {MAX_OUTPUT} bytes")
    if process.returncode != 0:
        raise GitError(f"git ended with {process.returncode}")
    return output.decode("utf-8", "replace")
