"""Summaries of what an agent made or ran, as the contract's Artifact. Every content passes the capture policy."""

import hashlib
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tachograph.producers.artifacts import git
from tachograph.producers.artifacts.diffs import count_lines, unified, without_files
from tachograph.producers.capture import HASH_PREFIX, Captured, CapturePolicy
from tachograph.producers.redaction.results import DropReason, dropped
from tachograph.schemas.enums import ArtifactType, CaptureMode
from tachograph.schemas.models.decision_event import Artifact, ArtifactMetadata

__all__ = ["ArtifactBuilder"]

_PATH_LIMIT: Final = 1024
_BRIEF_LIMIT: Final = 2000  # characters of a title or subject
_ID_DIGITS: Final = 32


class ArtifactBuilder:
    """Makes artifacts under one capture policy.

    An artifact's `hash` is the SHA-256 of its content as captured, so that a reader can check what is there; in mode
    hashed it is the keyed hash of the content itself; for content that was moved out, that of the stored file.
    """

    def __init__(self, policy: CapturePolicy) -> None:
        self._policy: Final = policy

    def file_edit(self, path: str, before: str | None, after: str | None) -> Artifact:
        """Describe an edit by the texts before and after; None where there was no file, or is none any more."""
        return self._file_edit(path, unified(path, before or "", after or ""))

    def file_edit_from_git(self, repo: Path, path: str, *, commit: str | None = None) -> Artifact:
        """Describe an edit by what git says: of the working tree against HEAD, or of a commit. Raises GitError."""
        return self._file_edit(path, git.diff_of(repo, path=path, commit=commit))

    def diff(self, text: str) -> Artifact:
        """Describe a unified diff over any number of files. Changes of secret files are left out of it."""
        added, removed = count_lines(text)
        captured = self._diff(text)
        return self._artifact(
            ArtifactType.DIFF,
            f"diff (+{added} -{removed})",
            captured,
            ArtifactMetadata(lines_added=added, lines_removed=removed),
        )

    def command(self, command: str | Sequence[str], exit_code: int | None, output: str | None = None) -> Artifact:
        """Describe a command that was run, with what it printed if that is wanted."""
        line = _command_line(command)
        content = line if output is None else f"{line}\n{output}"
        summary = "command ran" if exit_code is None else f"command exited with {exit_code}"
        return self._artifact(
            ArtifactType.COMMAND, summary, self._policy.text(content), ArtifactMetadata(exit_code=exit_code)
        )

    def test_run(
        self,
        command: str | Sequence[str],
        exit_code: int | None,
        summary: str = "",
        *,
        passed: int | None = None,
        failed: int | None = None,
        skipped: int | None = None,
    ) -> Artifact:
        """Describe a test run: its command, its exit code, and a summary in words, in numbers or both."""
        numbers = ", ".join(
            f"{count} {word}"
            for count, word in ((passed, "passed"), (failed, "failed"), (skipped, "skipped"))
            if count is not None
        )
        words = self._brief(summary) if summary else ""
        return self._artifact(
            ArtifactType.TEST_RUN,
            "; ".join(filter(None, (words, numbers))) or "test run",
            self._policy.text(_command_line(command)),
            ArtifactMetadata(exit_code=exit_code),
        )

    def pull_request(self, reference: str, title: str, body: str = "", *, diff: str | None = None) -> Artifact:
        """Describe a pull request; ``reference`` is its number or address."""
        added, removed = count_lines(diff) if diff is not None else (None, None)
        content = self._diff(diff) if diff is not None else self._policy.text(f"{title}\n\n{body}".strip())
        return self._artifact(
            ArtifactType.PR,
            f"{self._policy.label(reference)}: {self._brief(title)}",
            content,
            ArtifactMetadata(lines_added=added, lines_removed=removed),
        )

    def commit(self, sha: str, message: str, *, diff: str | None = None) -> Artifact:
        """Describe a commit by its hash, its message and, if given, its diff."""
        added, removed = count_lines(diff) if diff is not None else (None, None)
        content = self._diff(diff) if diff is not None else self._policy.text(message)
        subject = message.partition("\n")[0]
        return self._artifact(
            ArtifactType.COMMIT,
            f"{self._policy.label(sha)}: {self._brief(subject)}",
            content,
            ArtifactMetadata(lines_added=added, lines_removed=removed),
        )

    def commit_from_git(self, repo: Path, commit: str = "HEAD") -> Artifact:
        """Describe a commit of a repository. Raises GitError."""
        sha, message = git.commit_message(repo, commit)
        return self.commit(sha, message, diff=git.diff_of(repo, commit=commit))

    def _file_edit(self, path: str, diff: str) -> Artifact:
        added, removed = count_lines(diff)
        name = self._policy.label(path, _PATH_LIMIT)
        captured = self._policy.text(diff, path=path, suffix=".diff")
        return self._artifact(
            ArtifactType.FILE_EDIT,
            f"edit of {name} (+{added} -{removed})",
            captured,
            ArtifactMetadata(path=name, lines_added=added, lines_removed=removed),
        )

    def _brief(self, text: str) -> str:
        return self._policy.text(text).text[:_BRIEF_LIMIT]

    def _diff(self, text: str) -> Captured:
        if self._policy.mode is CaptureMode.REDACTED:
            text = without_files(text, self._policy.redactor.path, dropped(DropReason.PATH))
        return self._policy.text(text, suffix=".diff")

    def _artifact(self, kind: ArtifactType, summary: str, captured: Captured, metadata: ArtifactMetadata) -> Artifact:
        if captured.pointer is not None:
            digest = captured.pointer.hash
        elif captured.mode is CaptureMode.HASHED and captured.text.startswith(HASH_PREFIX):
            digest = captured.text.removeprefix(HASH_PREFIX)
        else:
            digest = hashlib.sha256(captured.text.encode()).hexdigest()
        return Artifact(
            type=kind,
            id=f"{kind.value}-{digest[:_ID_DIGITS]}",
            summary=summary,
            content=captured.inline,
            content_ref=captured.pointer.artifact_id if captured.pointer is not None else None,
            hash=digest,
            metadata=metadata,
        )


def _command_line(command: str | Sequence[str]) -> str:
    return command if isinstance(command, str) else shlex.join(command)
