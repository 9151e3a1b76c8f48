"""How far the broker has acknowledged one topic of one spool, and from which offsets on to look for the rest.

Two slots, written in turn, each with a CRC: a crash in the middle of a write leaves the other one. A cursor that lags
or is lost makes the read-back longer, never wrong.
"""

import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

from tachograph.producers.spool.files import Files

SUFFIX: Final = ".cursor"
_SLOT_SIZE: Final = 64 * 1024
_SLOTS: Final = 2
_BLOCK: Final = 4096
_PREFIX = struct.Struct("<II")
_FIXED = struct.Struct("<QIIH")
_FLOOR = struct.Struct("<Iq")
MAX_PARTITIONS: Final = (_SLOT_SIZE - _PREFIX.size - _FIXED.size) // _FLOOR.size


class Position(NamedTuple):
    """Everything before ``(segment, frame)`` is done with: acknowledged, or parked for good."""

    segment: int
    frame: int
    floors: Mapping[int, int]
    """By partition: no message from here on is below this offset. A partition without one is read from its start."""


START: Final = Position(0, 0, {})


def encode_slot(version: int, position: Position) -> bytes:
    """Bytes of one slot."""
    floors = sorted(position.floors.items())[:MAX_PARTITIONS]
    fields = _FIXED.pack(version, position.segment, position.frame, len(floors))
    payload = fields + b"".join(_FLOOR.pack(partition, offset) for partition, offset in floors)
    return _PREFIX.pack(len(payload), crc32(payload)) + payload


def decode_slot(data: bytes) -> tuple[int, Position] | None:
    """Version and position of a slot; None if it was never or only partly written."""
    if len(data) < _PREFIX.size:
        return None
    length, crc = _PREFIX.unpack_from(data)
    payload = data[_PREFIX.size : _PREFIX.size + length]
    if length < _FIXED.size or len(payload) != length or crc32(payload) != crc:
        return None
    version, segment, index, count = _FIXED.unpack_from(payload)
    if length != _FIXED.size + count * _FLOOR.size:
        return None
    return version, Position(segment, index, dict(_FLOOR.iter_unpack(payload[_FIXED.size :])))


def newest_slot(data: bytes) -> tuple[int, Position] | None:
    """Version and position in the bytes of a cursor file; None if it was never written."""
    slots = [decode_slot(data[start : start + _SLOT_SIZE]) for start in range(0, _SLOTS * _SLOT_SIZE, _SLOT_SIZE)]
    sound = [slot for slot in slots if slot is not None]
    if sound:
        return max(sound, key=lambda slot: slot[0])
    return (0, START) if data.strip(b"\0") else None


def peek(folder: Path, topic: str) -> tuple[int, int]:
    """Segment and frame from which on messages are not known to be done with."""
    try:
        newest = newest_slot((folder / f"{topic}{SUFFIX}").read_bytes())
    except OSError:
        newest = None
    return (0, 0) if newest is None else (newest[1].segment, newest[1].frame)


class CursorFile:
    """The cursor of one topic in one spool folder."""

    def __init__(self, files: Files, folder: Path, topic: str) -> None:
        self._files = files
        self.path = folder / f"{topic}{SUFFIX}"
        self._fd: int | None = None
        self._version = 0

    def reserve(self) -> None:
        """Take the disk blocks now: on a full disk the cursor must still move, or nothing would ever be freed."""
        fd = self._open()
        for slot in range(_SLOTS):
            self._files.pwrite(fd, bytes(_BLOCK), slot * _SLOT_SIZE)

    def read(self) -> Position | None:
        """The newest sound position; None if there is none because nothing was ever sent.

        The first position is written before the first message is sent, so no bytes mean no messages. Bytes that are
        damaged mean nothing at all: the beginning, with every partition to be read from its start.
        """
        newest = newest_slot(self._files.pread(self._open(), _SLOTS * _SLOT_SIZE, 0))
        if newest is None:
            return None
        self._version, position = newest
        return position

    def write(self, position: Position, *, sync: bool = False) -> None:
        """Remember a position. ``sync`` makes it survive loss of power."""
        fd = self._open()
        self._version += 1
        self._files.pwrite(fd, encode_slot(self._version, position), (self._version % _SLOTS) * _SLOT_SIZE)
        if sync:
            self._files.sync(fd)

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            self._files.close(self._fd)
            self._fd = None

    def _open(self) -> int:
        if self._fd is None:
            self._fd = self._files.open(self.path, os.O_RDWR | os.O_CREAT)
        return self._fd
