"""Kafka's jars: a pinned list, fetched once into the user's cache, checked at every start.

A jar is fetched beside the cache, compared with its pinned SHA-256 and only then moved in. So an interrupted download
leaves whole jars or none, and the next start fetches what is missing. A jar that was damaged later is fetched again.
"""

import errno
import fcntl
import hashlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tachograph.deploy.errors import DiskFull, DownloadFailed, RuntimeMissing
from tachograph.deploy.java import LOCAL_EXTRA
from tachograph.deploy.versions import KAFKA_VERSION

Progress = Callable[[int, int], None]
"""Called with bytes fetched so far and bytes in total, from several threads but never at the same time."""

# Fetching is bound by round trips: 46 jars took 8 s by fours, against 18 s one by one; more would be impolite.
_PARALLEL = 4
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Jar:
    """One pinned file."""

    sha256: str
    size: int
    coordinate: str

    @property
    def filename(self) -> str:
        """Name of the file in the cache."""
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"


def pinned_jars() -> Sequence[Jar]:
    """Every jar the broker needs."""
    lines = files("tachograph.deploy").joinpath("kafka.jars").read_text().splitlines()
    return [Jar(sha256, int(size), coordinate) for sha256, size, coordinate in (line.split() for line in lines)]


def default_cache() -> Path:
    """Folder shared by every clone of the project on this machine."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tachograph"


def ensure_jars(
    cache: Path | None = None,
    *,
    progress: Progress | None = None,
    jars: Sequence[Jar] | None = None,
    repositories: Mapping[str, str] | None = None,
) -> Path:
    """Folder with every jar, whole. Fetches what is missing or damaged."""
    wanted = pinned_jars() if jars is None else jars
    cache = cache or default_cache()
    folder = cache / f"kafka-{KAFKA_VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f"kafka-{KAFKA_VERSION}.lock"):
        missing = [jar for jar in wanted if not is_whole(folder / jar.filename, jar)]
        if missing:
            _fetch(missing, folder, _Meter(wanted, missing, progress), repositories)
    return folder


def is_whole(path: Path, jar: Jar) -> bool:
    """Whether the file is the pinned one, byte for byte. All of them take about 0.1 s."""
    digest = hashlib.sha256()
    try:
        if path.stat().st_size != jar.size:
            return False
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except FileNotFoundError:
        return False
    return digest.hexdigest() == jar.sha256


class _Meter:
    """Adds up what the threads fetch, in the shape jgo asks for."""

    def __init__(self, wanted: Sequence[Jar], missing: Sequence[Jar], progress: Progress | None) -> None:
        self._total = sum(jar.size for jar in wanted)
        self._done = self._total - sum(jar.size for jar in missing)
        self._progress = progress or (lambda _done, _total: None)
        self._lock = threading.Lock()

    @contextmanager
    def __call__(self, _filename: str, _size: int) -> Iterator[Callable[[int], None]]:
        yield self._add

    def _add(self, count: int) -> None:
        with self._lock:
            self._done += count
            self._progress(self._done, self._total)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Two clones that start at the same time fetch once."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(missing: Sequence[Jar], folder: Path, meter: _Meter, repositories: Mapping[str, str] | None) -> None:
    try:
        from jgo.maven import MavenContext, PythonResolver  # noqa: PLC0415  # an extra, and slow to import

        from tachograph.deploy import maven  # noqa: PLC0415  # imports jgo
    except ImportError:
        raise RuntimeMissing(f"the Maven resolver is not installed. Install it with: {LOCAL_EXTRA}") from None
    remotes = dict(repositories) if repositories is not None else maven.repositories()
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetch-") as scratch:
        context = MavenContext(
            repo_cache=Path(scratch), remote_repos=remotes, resolver=PythonResolver(progress_callback=meter)
        )
        with ThreadPoolExecutor(_PARALLEL) as pool:
            for done in [pool.submit(_fetch_one, jar, folder, context) for jar in missing]:
                try:
                    done.result()
                except BaseException:
                    pool.shutdown(cancel_futures=True)
                    raise


def _fetch_one(jar: Jar, folder: Path, context: Any) -> None:
    hosts = ", ".join(sorted({urlsplit(url).hostname or url for url in context.remote_repos.values()}))
    again = "Check the network or the mirror in ~/.m2/settings.xml, then run the command again."
    try:
        fetched = Path(context.create_dependency(jar.coordinate).artifact.resolve())
        if not is_whole(fetched, jar):
            raise DownloadFailed(f"{jar.filename} from {hosts} is not the file that was pinned. {again}")
        os.replace(fetched, folder / jar.filename)  # noqa: PTH105  # the atomic rename is the point
    except OSError as error:  # requests' errors are among them
        if error.errno == errno.ENOSPC:
            raise DiskFull(f"the disk of {folder} filled up during the download. Make room and run it again.") from None
        reason = type(error).__name__
        raise DownloadFailed(f"{jar.filename} could not be fetched from {hosts} ({reason}). {again}") from error
    except RuntimeError as error:  # jgo: no repository has it
        raise DownloadFailed(f"{jar.filename} is not at {hosts}. {again}") from error
