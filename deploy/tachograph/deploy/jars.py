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
from urllib.parse import urlsplit

from tachograph.deploy.errors import DiskFull, DownloadFailed, RuntimeMissing
from tachograph.deploy.java import LOCAL_EXTRA
from tachograph.deploy.versions import KAFKA_VERSION

Progress = Callable[[int, int], None]
"""Called with bytes fetched so far and bytes in total, from several threads but never at the same time."""

# By fours, all 46 jars took 2 s (one run). More at a time would be impolite to the repository.
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
    """Adds up what the threads fetch."""

    def __init__(self, wanted: Sequence[Jar], missing: Sequence[Jar], progress: Progress | None) -> None:
        self._total = sum(jar.size for jar in wanted)
        self._done = self._total - sum(jar.size for jar in missing)
        self._progress = progress or (lambda _done, _total: None)
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        """So many bytes more are here."""
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
        from tachograph.deploy import maven  # noqa: PLC0415  # imports jgo, an extra
    except ImportError:
        raise RuntimeMissing(f"the Maven resolver is not installed. Install it with: {LOCAL_EXTRA}") from None
    addresses = list((repositories if repositories is not None else maven.repositories()).values())
    hosts = ", ".join(sorted({urlsplit(address).hostname or "?" for address in addresses}))  # without passwords
    again = "Check the network or the mirror in ~/.m2/settings.xml, then run the command again."

    def fetch_one(jar: Jar, scratch: Path) -> None:
        part = scratch / jar.filename
        try:
            found = any(maven.download(address, jar.coordinate, part, meter.add) for address in addresses)
            if not found:
                raise DownloadFailed(f"{jar.filename} is not at {hosts}. {again}")
            if not is_whole(part, jar):
                raise DownloadFailed(f"{jar.filename} from {hosts} is not the file that was pinned. {again}")
            part.replace(folder / jar.filename)
        except OSError as error:  # those of requests are among them
            if error.errno == errno.ENOSPC:
                raise DiskFull(f"the disk of {folder} is full. Make room, then run the command again.") from None
            reason = type(error).__name__
            raise DownloadFailed(f"{jar.filename} could not be fetched from {hosts} ({reason}). {again}") from None

    with (
        tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetch-") as scratch,
        ThreadPoolExecutor(_PARALLEL) as pool,
    ):
        for done in [pool.submit(fetch_one, jar, Path(scratch)) for jar in missing]:
            try:
                done.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
