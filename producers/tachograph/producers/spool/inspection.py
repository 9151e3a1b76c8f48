"""What is in a spool folder, without touching it: ``tachograph spool inspect``."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tachograph.producers.spool.cursor import peek
from tachograph.producers.spool.frames import scan
from tachograph.producers.spool.rejected import FOLDER as REJECTED
from tachograph.producers.spool.segment import HEADER_SIZE, SegmentName, created_ms, segments_in
from tachograph.producers.spool.subfolder import LOCK, owner_alive, subfolders


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentReport:
    """One segment file."""

    topic: str
    number: int
    bytes: int
    messages: int
    """Sound messages in it."""
    waiting: int
    """Those that are not known to be acknowledged."""
    corrupt: int
    """Damaged stretches."""
    torn_bytes: int
    """Bytes of an unfinished write at its end."""
    created_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubfolderReport:
    """The spool of one process."""

    spool: str
    pid: int | None
    """Process that made it, in its own numbering."""
    owner_alive: bool
    segments: tuple[SegmentReport, ...]

    @property
    def waiting(self) -> int:
        """Messages that are not known to be acknowledged."""
        return sum(segment.waiting for segment in self.segments)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolReport:
    """A spool folder at one moment. Its owners go on while it is read, so sums may be a little behind."""

    folder: Path
    spools: tuple[SubfolderReport, ...]
    rejected: int
    """Messages under ``rejected/``."""

    @property
    def waiting(self) -> int:
        """Messages that are not known to be acknowledged."""
        return sum(spool.waiting for spool in self.spools)

    @property
    def bytes(self) -> int:
        """Size of all segments."""
        return sum(segment.bytes for spool in self.spools for segment in spool.segments)

    @property
    def oldest(self) -> datetime | None:
        """When the oldest segment that still waits was made."""
        times = [
            segment.created_at
            for spool in self.spools
            for segment in spool.segments
            if segment.waiting and segment.created_at is not None
        ]
        return min(times, default=None)


def inspect(folder: Path) -> SpoolReport:
    """Describe a spool folder; an empty report if there is none."""
    rejected = sum(segment.messages for path in subfolders(folder / REJECTED) for segment in _segments(path))
    return SpoolReport(folder=folder, spools=tuple(_subfolder(path) for path in subfolders(folder)), rejected=rejected)


def _subfolder(path: Path) -> SubfolderReport:
    try:
        pid: int | None = int((path / LOCK).read_text())
    except (OSError, ValueError):
        pid = None
    return SubfolderReport(spool=path.name, pid=pid, owner_alive=owner_alive(path), segments=_segments(path))


def _segments(path: Path) -> tuple[SegmentReport, ...]:
    reports = []
    try:
        found = segments_in(path)
    except OSError:  # its owner has just removed it
        return ()
    for topic, numbers in found.items():
        done = peek(path, topic)
        for number in numbers:
            try:
                data = SegmentName(topic, number).path(path).read_bytes()
            except OSError:
                continue
            result = scan(data[HEADER_SIZE:])
            created = created_ms(data)
            reports.append(
                SegmentReport(
                    topic=topic,
                    number=number,
                    bytes=len(data),
                    messages=len(result.frames),
                    waiting=sum((number, frame.number) >= done for frame in result.frames),
                    corrupt=result.corrupt,
                    torn_bytes=result.torn,
                    created_at=None if created is None else datetime.fromtimestamp(created / 1000, UTC),
                )
            )
    return tuple(reports)
