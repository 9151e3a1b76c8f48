"""Kafka's jars: fetched once, whole or not at all."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tachograph.deploy.errors import DownloadFailed
from tachograph.deploy.jars import Jar, default_cache, ensure_jars, pinned_jars
from tachograph.deploy.maven import mirror_of_central
from tachograph.deploy.versions import KAFKA_VERSION

CONTENT = {f"org.example:part{i}:1.{i}": bytes([i]) * (50_000 + i) for i in range(5)}
JARS = [Jar(hashlib.sha256(body).hexdigest(), len(body), name) for name, body in CONTENT.items()]


class Repository:
    """A Maven repository on loopback whose answers a test can spoil."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        for jar, body in zip(JARS, CONTENT.values(), strict=True):
            group, artifact, version = jar.coordinate.split(":")
            self.files[f"/{group.replace('.', '/')}/{artifact}/{version}/{jar.filename}"] = body
        self.cut_off: set[str] = set()
        self.requested: list[str] = []
        self.url = ""


@pytest.fixture
def repository() -> Iterator[Repository]:
    answers = Repository()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answers.files.get(self.path)
            if body is None:
                self.send_error(404)
                return
            answers.requested.append(Path(self.path).name)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if Path(self.path).name in answers.cut_off else body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - overrides the base class
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        answers.url = f"http://user:hunter2@127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield answers
        server.shutdown()
        thread.join()


def fetch(cache: Path, repository: Repository, seen: list[tuple[int, int]] | None = None) -> Path:
    report = (lambda done, total: seen.append((done, total))) if seen is not None else None
    return ensure_jars(cache, jars=JARS, repositories={"test": repository.url}, progress=report)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_everything_is_fetched_once(tmp_path: Path, repository: Repository) -> None:
    """The second start asks nobody, and the progress ends at the total."""
    seen: list[tuple[int, int]] = []
    folder = fetch(tmp_path, repository, seen)
    total = sum(jar.size for jar in JARS)
    assert names(folder) == {jar.filename for jar in JARS}
    assert seen[-1] == (total, total)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    repository.requested.clear()
    fetch(tmp_path, repository)
    assert repository.requested == []


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:1000]), id="half of it"),
        pytest.param(lambda path: path.write_bytes(bytes(path.stat().st_size)), id="right size, wrong bytes"),
        pytest.param(lambda path: path.unlink(), id="missing"),
    ],
)
def test_a_damaged_jar_is_fetched_again(tmp_path: Path, repository: Repository, damage: object) -> None:
    """Only that one, and the start goes on."""
    folder = fetch(tmp_path, repository)
    repository.requested.clear()
    assert callable(damage)
    damage(folder / JARS[2].filename)
    fetch(tmp_path, repository)
    assert repository.requested == [JARS[2].filename]
    assert (folder / JARS[2].filename).read_bytes() == CONTENT[JARS[2].coordinate]


def test_an_interrupted_download_leaves_whole_jars_only(tmp_path: Path, repository: Repository) -> None:
    """A connection that breaks is a sentence, nothing half stays behind, and the next attempt goes on from there."""
    repository.cut_off.add(JARS[3].filename)
    with pytest.raises(DownloadFailed, match=rf"{JARS[3].filename}.*127\.0\.0\.1.*run the command again") as caught:
        fetch(tmp_path, repository)
    assert "hunter2" not in str(caught.value)
    folder = tmp_path / f"kafka-{KAFKA_VERSION}"
    assert all((folder / name).stat().st_size > 50_000 - 1 for name in names(folder))
    assert JARS[3].filename not in names(folder)
    assert names(tmp_path) == {folder.name, f"{folder.name}.lock"}
    repository.cut_off.clear()
    assert names(fetch(tmp_path, repository)) == {jar.filename for jar in JARS}


def test_another_file_than_the_pinned_one_is_refused(tmp_path: Path, repository: Repository) -> None:
    """A repository cannot slip in other code."""
    path = next(path for path in repository.files if path.endswith(JARS[0].filename))
    repository.files[path] = repository.files[path][:-1] + b"!"
    with pytest.raises(DownloadFailed, match="not the file that was pinned"):
        fetch(tmp_path, repository)


def test_a_repository_without_the_file_is_named(tmp_path: Path, repository: Repository) -> None:
    """Named by host, without the password in its address."""
    repository.files.clear()
    with pytest.raises(DownloadFailed, match=r"is not at 127\.0\.0\.1\.") as caught:
        fetch(tmp_path, repository)
    assert "hunter2" not in str(caught.value)


def test_an_unreachable_repository_is_named(tmp_path: Path) -> None:
    """Nothing listens on port 1."""
    with pytest.raises(DownloadFailed, match=r"could not be fetched from 127\.0\.0\.1 \(ConnectionError\)"):
        ensure_jars(tmp_path, jars=JARS[:1], repositories={"test": "http://127.0.0.1:1"})


def test_the_pinned_list_is_one_release_of_kafka() -> None:
    """No two versions of the same jar, and every part of Kafka from the same release."""
    coordinates = [jar.coordinate.split(":") for jar in pinned_jars()]
    assert len({artifact for _, artifact, _ in coordinates}) == len(coordinates)
    assert {version for group, _, version in coordinates if group == "org.apache.kafka"} == {KAFKA_VERSION}


def test_the_cache_follows_the_users_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """XDG_CACHE_HOME, else ~/.cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "tachograph"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache() == tmp_path / ".cache" / "tachograph"


@pytest.mark.parametrize(
    ("mirror_of", "expected"),
    [
        pytest.param("*", "https://mirror.example/maven", id="everything"),
        pytest.param("central", "https://mirror.example/maven", id="central"),
        pytest.param("snapshots, external:*", "https://mirror.example/maven", id="everything outside"),
        pytest.param("snapshots", None, id="something else"),
    ],
)
def test_a_mirror_in_mavens_settings_is_used(tmp_path: Path, mirror_of: str, expected: str | None) -> None:
    """Whoever set up Maven need not set up us."""
    path = tmp_path / "settings.xml"
    path.write_text(
        '<settings xmlns="http://maven.apache.org/SETTINGS/1.2.0"><mirrors><mirror><id>m</id>'
        f"<mirrorOf>{mirror_of}</mirrorOf><url>https://mirror.example/maven/</url></mirror></mirrors></settings>"
    )
    assert mirror_of_central(path) == expected
    assert mirror_of_central(tmp_path / "none.xml") is None
