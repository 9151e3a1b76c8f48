"""Artifacts: summaries in their capture mode, and sealed files that stay within the workspace."""

import hashlib
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.producers.artifacts import (
    ArtifactBuilder,
    ArtifactError,
    ArtifactKey,
    FolderArtifactWriter,
    GitError,
    open_sealed,
    seal,
)
from tachograph.producers.artifacts.diffs import count_lines, unified
from tachograph.producers.capture import CapturePolicy
from tachograph.producers.redaction.samples import expand
from tachograph.schemas.enums import ArtifactType, CaptureMode
from tachograph.schemas.models.decision_event import Artifact, ArtifactMetadata

TOKEN = expand("ghp_{{W:36}}")
KEY = ArtifactKey(b"m" * 32)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def builder(mode: CaptureMode = CaptureMode.REDACTED, **options: FolderArtifactWriter) -> ArtifactBuilder:
    return ArtifactBuilder(CapturePolicy(mode, None, b"k" * 32, **options))


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class TestSummaries:
    def test_an_edit_is_a_unified_diff(self) -> None:
        """Whole record."""
        diff = f"--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a\n-b\n+{'[REDACTED:github-token]'}\n"
        assert builder().file_edit("x.py", "a\nb\n", f"a\n{TOKEN}\n") == Artifact(
            type=ArtifactType.FILE_EDIT,
            id=f"file_edit-{sha256(diff)[:32]}",
            summary="edit of x.py (+1 -1)",
            content=diff,
            hash=sha256(diff),
            metadata=ArtifactMetadata(path="x.py", lines_added=1, lines_removed=1),
        )

    def test_an_edit_of_a_secret_file_has_no_content(self) -> None:
        """Its numbers are kept."""
        artifact = builder().file_edit("conf/.env", None, "A=1\nB=2\n")
        assert (artifact.content, artifact.metadata.lines_added) == ("[DROPPED:path]", 2)

    def test_hashed_content_is_a_keyed_hash(self) -> None:
        """And so is the artifact's hash: a short command cannot be guessed from it."""
        artifact = builder(CaptureMode.HASHED).command("ls", 0)
        assert artifact.content == f"hmac:{artifact.hash}"
        assert artifact.hash != sha256("ls")

    def test_a_command(self) -> None:
        """Arguments are joined as a shell would need them."""
        artifact = builder().command(["curl", "-H", "Authorization: Bearer abc", "h"], 7, "password=x")
        assert artifact.content == "curl -H 'Authorization: [REDACTED:header-value]' h\npassword=[REDACTED:key-name]"
        assert (artifact.type, artifact.summary) == (ArtifactType.COMMAND, "command exited with 7")
        assert artifact.metadata == ArtifactMetadata(exit_code=7)

    def test_a_test_run(self) -> None:
        """Command, exit code and summary."""
        artifact = builder().test_run("pytest -q", 1, f"leaks {TOKEN}", passed=3, failed=1)
        assert artifact.summary == "leaks [REDACTED:github-token]; 3 passed, 1 failed"
        assert (artifact.content, artifact.metadata.exit_code) == ("pytest -q", 1)

    def test_a_pull_request_and_a_commit(self) -> None:
        """Reference, title, and what changed if it is given."""
        diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+new\n"
        request = builder().pull_request("#12", f"Use {TOKEN}", "why", diff=diff)
        assert (request.summary, request.content) == ("#12: Use [REDACTED:github-token]", diff)
        commit = builder().commit("abc123", "Subject\n\nBody")
        assert (commit.summary, commit.content) == ("abc123: Subject", "Subject\n\nBody")
        assert builder().commit("a", "x" * 100_000).summary == f"a: {'x' * 2000}"

    def test_a_diff_loses_the_changes_of_secret_files(self) -> None:
        """And keeps those of the others."""
        public = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n old\n+--- not a header\n"
        secret = (
            "diff --git a/.env b/.env\nnew file mode 100644\n--- /dev/null\n+++ b/.env\n@@ -0,0 +1 @@\n+A=hunter2\n"
        )
        artifact = builder().diff(secret + public)
        assert artifact.content == f"diff --git a/.env b/.env\n[DROPPED:path]\n{public}"
        assert artifact.metadata == ArtifactMetadata(lines_added=2, lines_removed=0)
        plain = builder().diff("--- a/.npmrc\n+++ b/.npmrc\n@@ -0,0 +1 @@\n+x=hunter2\n")
        assert plain.content == "--- a/.npmrc\n[DROPPED:path]\n"

    def test_large_content_is_stored_by_pointer(self, tmp_path: Path) -> None:
        """And can be read back by whoever has the key."""
        writer = FolderArtifactWriter(tmp_path, key=KEY, now=lambda: NOON)
        text = "".join(f"line {number}\n" for number in range(10_000))
        artifact = builder(writer=writer).file_edit("big.txt", "", text)
        assert artifact.content is None
        assert artifact.content_ref is not None
        (file,) = tmp_path.glob(".tachograph/artifacts/*/*")
        assert file.name == f"{artifact.content_ref}.diff.sealed"
        assert artifact.hash == hashlib.sha256(file.read_bytes()).hexdigest()
        assert open_sealed(KEY, file.read_bytes()) == unified("big.txt", "", text).encode()


LINES = st.lists(st.sampled_from(["a\n", "b\n", "--- x\n", "+++ y\n", "@@ -1 +1 @@\n", "\n", "end"]), max_size=12)


@settings(max_examples=100, deadline=None)
@given(before=LINES, after=LINES, large=st.booleans())
def test_a_diff_leads_from_before_to_after(before: list[str], after: list[str], large: bool) -> None:
    """Either way of making it: git applies it, so to speak; and the counts agree with it."""
    with pytest.MonkeyPatch.context() as patch:
        if large:
            patch.setattr("tachograph.producers.artifacts.diffs._MAX_PAIRS", -1)
        old, new = "".join(before), "".join(after)
        diff = unified("f", old, new)
    lines = diff.split("\n")[2:]
    body = [line for line in lines if not line.startswith(("@@ -", "\\")) or line.startswith("@@@")]
    counts = count_lines(diff)
    assert counts.added - counts.removed == len(new.splitlines()) - len(old.splitlines())
    assert counts.added + counts.removed == sum(line[:1] in {"+", "-"} for line in body)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)

    git("init", "-q")
    (folder / "x.py").write_text("a\nb\n")
    git("add", ".")
    git("commit", "-qm", "First")
    (folder / "x.py").write_text("a\nc\nd\n")
    (folder / ".env").write_text("SECRET=hunter2\n")
    git("add", ".")
    git("commit", "-qm", f"Second {TOKEN}\n\nBody")
    (folder / "x.py").write_text("a\n")
    return folder


class TestGit:
    def test_an_edit_of_the_working_tree(self, repo: Path) -> None:
        """Against HEAD."""
        artifact = builder().file_edit_from_git(repo, "x.py")
        assert artifact.metadata == ArtifactMetadata(path="x.py", lines_added=0, lines_removed=2)
        assert artifact.content is not None
        assert artifact.content.endswith("@@ -1,3 +1 @@\n a\n-c\n-d\n")

    def test_an_edit_of_a_commit(self, repo: Path) -> None:
        """Of one path in it."""
        artifact = builder().file_edit_from_git(repo, "x.py", commit="HEAD")
        assert artifact.metadata == ArtifactMetadata(path="x.py", lines_added=2, lines_removed=1)

    def test_a_commit(self, repo: Path) -> None:
        """Message redacted, secret file left out, numbers of all."""
        artifact = builder().commit_from_git(repo)
        assert artifact.content is not None
        assert "hunter2" not in artifact.content
        assert "[DROPPED:path]" in artifact.content
        assert "+c\n+d\n" in artifact.content
        assert artifact.summary.endswith(": Second [REDACTED:github-token]")
        assert (artifact.metadata.lines_added, artifact.metadata.lines_removed) == (3, 1)

    @pytest.mark.parametrize("commit", ["nope", "--output=x", "-p", "", "HEAD;ls"])
    def test_what_is_no_commit(self, repo: Path, commit: str) -> None:
        """It is refused, and never read as an option."""
        with pytest.raises(GitError):
            builder().file_edit_from_git(repo, "x.py", commit=commit)
        assert not (repo / "x").exists()

    def test_what_is_no_repository(self, tmp_path: Path) -> None:
        """It is refused."""
        with pytest.raises(GitError, match="git"):
            builder().file_edit_from_git(tmp_path / "none", "x.py")

    def test_a_diff_beyond_the_limit(self, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Git is stopped and nothing is kept."""
        monkeypatch.setattr("tachograph.producers.artifacts.git.MAX_OUTPUT", 10)
        with pytest.raises(GitError, match="over 10 bytes"):
            builder().file_edit_from_git(repo, "x.py")


class TestSealed:
    @settings(max_examples=50, deadline=None)
    @given(data=st.binary(max_size=300), flip=st.integers(0, 10_000))
    def test_what_is_sealed_can_be_opened_and_not_changed(self, data: bytes, flip: int) -> None:
        """Any changed byte is noticed; the form is the documented one."""
        sealed = seal(KEY, data)
        assert open_sealed(KEY, sealed) == data
        assert (sealed[0], sealed[1:9], len(sealed)) == (1, KEY.key_id, len(data) + 37)
        place = flip % len(sealed)
        with pytest.raises(ArtifactError):
            open_sealed(KEY, sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place + 1 :])

    def test_another_key_opens_nothing(self) -> None:
        """Not even with its id forged."""
        other = ArtifactKey.generate()
        sealed = seal(KEY, b"content")
        with pytest.raises(ArtifactError, match="another key"):
            open_sealed(other, sealed)
        with pytest.raises(ArtifactError, match="changed") as caught:
            open_sealed(other, sealed[:1] + other.key_id + sealed[9:])
        assert caught.value.__cause__ is None
        with pytest.raises(ArtifactError, match="version"):
            open_sealed(KEY, b"")

    def test_the_key_shows_nothing_of_itself(self) -> None:
        """But its id."""
        assert repr(KEY) == f"ArtifactKey(key_id='{KEY.key_id.hex()}')"

    def test_the_key_file_is_private_and_made_once(self, tmp_path: Path) -> None:
        """Mode 0600; a second process gets the same; one that others can read is refused."""
        first = ArtifactKey.in_folder(tmp_path)
        file = tmp_path / "artifact.key"
        assert file.stat().st_mode & 0o777 == 0o600
        assert ArtifactKey.in_folder(tmp_path).key_id == first.key_id
        assert list(tmp_path.iterdir()) == [file]
        file.chmod(0o640)
        with pytest.raises(ArtifactError, match="0600"):
            ArtifactKey.in_folder(tmp_path)
        file.chmod(0o600)
        file.write_bytes(b"short")
        with pytest.raises(ArtifactError, match="32 bytes"):
            ArtifactKey.in_folder(tmp_path)


class TestFolder:
    def test_a_stored_artifact(self, tmp_path: Path) -> None:
        """Same content, same file; private modes; nothing readable in it."""
        writer = FolderArtifactWriter(tmp_path, now=lambda: NOON)
        pointer = writer.put(TOKEN.encode(), suffix=".txt")
        assert writer.put(TOKEN.encode(), suffix=".txt") == pointer
        file = tmp_path / pointer.path
        assert TOKEN.encode() not in file.read_bytes()
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.parent.stat().st_mode & 0o777 == 0o700
        assert (pointer.size_bytes, pointer.created_at) == (file.stat().st_size, NOON)
        assert [item.name for item in file.parent.iterdir()] == [file.name]
        assert FolderArtifactWriter(tmp_path).get(pointer) == TOKEN.encode()

    def test_a_changed_or_missing_file_is_noticed(self, tmp_path: Path) -> None:
        """Before anything is decrypted."""
        writer = FolderArtifactWriter(tmp_path, key=KEY)
        pointer = writer.put(b"content")
        (tmp_path / pointer.path).write_bytes(seal(KEY, b"other"))
        with pytest.raises(ArtifactError, match="not the one"):
            writer.get(pointer)
        (tmp_path / pointer.path).unlink()
        with pytest.raises(ArtifactError, match="cannot be used"):
            writer.get(pointer)

    @pytest.mark.parametrize("folder", ["../out", "/out", "a/../../out", "", ".", "a\\b", "a//b"])
    def test_a_folder_outside_of_the_workspace_is_refused(self, tmp_path: Path, folder: str) -> None:
        """By its name."""
        with pytest.raises(ArtifactError, match="relative to the workspace"):
            FolderArtifactWriter(tmp_path, folder)

    def test_a_link_out_of_the_workspace_is_refused(self, tmp_path: Path) -> None:
        """At any depth, whether for a folder or for a file."""
        workspace, outside = tmp_path / "workspace", tmp_path / "outside"
        workspace.mkdir()
        outside.mkdir()
        (workspace / "link").symlink_to(outside)
        with pytest.raises(ArtifactError):
            FolderArtifactWriter(workspace, "link/artifacts")
        writer = FolderArtifactWriter(workspace, "artifacts", key=KEY)
        pointer = writer.put(b"content")
        shard = (workspace / pointer.path).parent
        (workspace / pointer.path).rename(outside / "file")
        (workspace / pointer.path).symlink_to(outside / "file")
        with pytest.raises(ArtifactError):
            writer.get(pointer)
        (workspace / pointer.path).unlink()
        shard.rmdir()
        shard.symlink_to(outside)
        with pytest.raises(ArtifactError):
            writer.put(b"content")
        assert [item.name for item in outside.iterdir()] == ["file"]

    @pytest.mark.parametrize("suffix", ["txt", "./x", ".TXT", "..", f".{'a' * 17}"])
    def test_a_suffix_is_only_a_suffix(self, tmp_path: Path, suffix: str) -> None:
        """And no part of a path."""
        with pytest.raises(ArtifactError, match="suffix"):
            FolderArtifactWriter(tmp_path, key=KEY).put(b"x", suffix=suffix)
