"""Segment files: their names, their first bytes, and the one that is being written."""

import contextlib
import os
import re
import struct
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

from tachograph.producers.spool.files import Files
from tachograph.producers.spool.identity import SPOOL_ID_SIZE

SUFFIX: Final = ".seg"
_NAME = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,200})\.(?P<number>\d{8})\.seg")
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,200}")
_MAGIC: Final = b"TGSPOOL1"
_HEADER = struct.Struct(f"<8s{SPOOL_ID_SIZE}sIQI")
HEADER_SIZE: Final = _HEADER.size
_CRC_SIZE: Final = 4


class SegmentName(NamedTuple):
    """What a segment's file name says."""

    topic: str
    number: int

    @classmethod
    def parse(cls, file_name: str) -> "SegmentName | None":
        """None if the file is not a segment."""
        found = _NAME.fullmatch(file_name)
        return cls(found["topic"], int(found["number"])) if found else None

    def path(self, folder: Path) -> Path:
        """Where it is."""
        return folder / f"{self.topic}.{self.number:08d}{SUFFIX}"


def usable_topic(topic: str) -> bool:
    """A name Kafka would take, short enough to be part of a file's."""
    return _TOPIC.fullmatch(topic) is not None and topic not in {".", ".."}


def segments_in(folder: Path) -> dict[str, list[int]]:
    """Numbers of the segments in a folder by topic, in the order they were written."""
    found: dict[str, list[int]] = {}
    for name in sorted(path.name for path in folder.iterdir()):
        parsed = SegmentName.parse(name)
        if parsed is not None:
            found.setdefault(parsed.topic, []).append(parsed.number)
    return found


def encode_header(spool: bytes, number: int, created_ms: int) -> bytes:
    """First bytes of a segment. What they say is in names, too: they are for a person with a hex dump, and the date."""
    fields = _HEADER.pack(_MAGIC, spool, number, created_ms, 0)[:-_CRC_SIZE]
    return fields + crc32(fields).to_bytes(_CRC_SIZE, "little")


def created_ms(header: bytes) -> int | None:
    """When a segment was made, in milliseconds since 1970; None if its first bytes are damaged."""
    if len(header) < HEADER_SIZE:
        return None
    magic, _, _, created, crc = _HEADER.unpack_from(header)
    sound = magic == _MAGIC and crc == crc32(header[: HEADER_SIZE - _CRC_SIZE])
    return int(created) if sound else None


class OpenSegment:
    """The segment that frames are appended to. Not thread-safe: its appender holds the lock."""

    __slots__ = ("committed", "count", "fd", "number", "position")

    def __init__(self, fd: int, number: int) -> None:
        self.fd = fd
        self.number = number
        self.position = HEADER_SIZE
        """Bytes of it that are whole frames."""
        self.committed = HEADER_SIZE
        """Bytes of it whose callers were told that they are kept; the sender reads no further."""
        self.count = 0
        """Frames in it."""

    @classmethod
    def create(cls, files: Files, folder: Path, name: SegmentName, header: bytes) -> "OpenSegment":
        """Make the file. Raises OSError and leaves nothing behind."""
        path = name.path(folder)
        fd = files.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)
        try:
            write_all(files, fd, header)
        except OSError:
            files.close(fd)
            with contextlib.suppress(OSError):
                files.unlink(path)
            raise
        return cls(fd, name.number)


def write_all(files: Files, fd: int, data: bytes) -> None:
    """Append all of ``data``; a short write is followed by another, which gives the reason for the first."""
    written = files.write(fd, data)
    while written < len(data):
        written += files.write(fd, data[written:])
