"""Bytes of a message in a segment, and how to find the sound ones again after a crash. No I/O.

A frame is ``A7 47 | length | index | crc | body``, numbers little-endian. The CRC is over the body and starts from the
index, so it vouches for both. The index is written, not counted, so that frames behind a damaged one keep their names.
The marker lets a reader find the next frame where a damaged length would hide it.
"""

import struct
from typing import Final, NamedTuple
from zlib import crc32

from tachograph.producers.publishing import Message, MessageMalformed

MARKER: Final = b"\xa7\x47"
_PREFIX = struct.Struct("<2sIII")
PREFIX_SIZE: Final = _PREFIX.size
_BODY = struct.Struct("<HB")


class Frame(NamedTuple):
    """One sound frame."""

    number: int
    body: bytes
    size: int
    """Bytes it takes in the segment."""


class Scan(NamedTuple):
    """What a stretch of a segment holds."""

    frames: list[Frame]
    consumed: int
    """Bytes that are dealt with; the next stretch starts behind them."""
    corrupt: int
    """Damaged stretches that were stepped over."""
    torn: int
    """Bytes of an unfinished write at the very end: never acknowledged to a caller."""


_names: dict[str, bytes] = {}


def _encoded_name(name: str) -> bytes:
    raw = name.encode()
    encoded = bytes((len(raw),)) + raw
    if len(_names) < 256:  # noqa: PLR2004 - header names are a handful; a caller that invents them must not fill memory
        _names[name] = encoded
    return encoded


def encode_body(message: Message) -> bytes:
    """Everything of a message but its topic, which the segment names. Raises MessageMalformed."""
    key = message.key
    headers = message.headers
    try:
        parts = [_BODY.pack(len(key), len(headers)), key]
        for name, value in headers:
            parts += (_names.get(name) or _encoded_name(name), len(value).to_bytes(4, "little"), value)
        parts.append(message.value)
        return b"".join(parts)
    except (struct.error, TypeError, ValueError) as error:
        raise _malformed(error) from None


def body_size(message: Message) -> int:
    """Length of what ``encode_body`` gives, for 1.1 µs instead of 1.8. Raises MessageMalformed."""
    headers = message.headers
    try:
        size = 4 * len(headers)
        parts = [_BODY.pack(len(message.key), len(headers)), message.key, message.value]
        for name, value in headers:
            size += len(_names.get(name) or _encoded_name(name))
            parts.append(value)
        return size + len(b"".join(parts))  # joined, not summed up: that refuses what is not bytes
    except (struct.error, TypeError, ValueError) as error:
        raise _malformed(error) from None


def _malformed(error: Exception) -> MessageMalformed:
    # Too long a key, too many headers, something that is not bytes. The library's text may quote it; ours must not.
    return MessageMalformed(f"a message does not fit a frame ({type(error).__name__})")


def encode_frame(index: int, body: bytes) -> bytes:
    """The bytes to append."""
    return _PREFIX.pack(MARKER, len(body), index, crc32(body, index)) + body


def decode_body(topic: str, body: bytes) -> Message:
    """Message of a body whose CRC held."""
    key_size, count = _BODY.unpack_from(body)
    at = _BODY.size
    key = body[at : at + key_size]
    at += key_size
    headers = []
    for _ in range(count):
        name_end = at + 1 + body[at]
        name = body[at + 1 : name_end].decode()
        at = name_end + 4 + int.from_bytes(body[name_end : name_end + 4], "little")
        headers.append((name, body[name_end + 4 : at]))
    return Message(topic, key, body[at:], tuple(headers))


def scan(data: bytes, *, limit: int | None = None, final: bool = True) -> Scan:
    """Sound frames in ``data``, in order. Never raises, always ends.

    ``final`` says that ``data`` ends where a frame does or where nothing will ever follow. Otherwise the scan stops at
    the first thing that is not a sound frame: it may be the beginning of one. At most ``limit`` frames are taken.
    """
    frames: list[Frame] = []
    corrupt = 0
    at = 0
    end = len(data)
    damaged_from: int | None = None
    while at < end and (limit is None or len(frames) < limit):
        frame = _frame_at(data, at)
        if frame is not None:
            if damaged_from is not None:
                corrupt += 1
                damaged_from = None
            frames.append(frame)
            at += frame.size
            continue
        if not final:
            return Scan(frames, at, corrupt, 0)
        damaged_from = at if damaged_from is None else damaged_from
        following = data.find(MARKER, at + 1)
        at = end if following < 0 else following
    if damaged_from is None:
        return Scan(frames, at, corrupt, 0)
    # Nothing sound follows. A kill leaves the beginning of a frame, a lost power supply may leave zeros.
    if _unfinished(data, damaged_from) or not data[damaged_from:].strip(b"\0"):
        return Scan(frames, end, corrupt, end - damaged_from)
    return Scan(frames, end, corrupt + 1, 0)


def _frame_at(data: bytes, at: int) -> Frame | None:
    if len(data) - at < PREFIX_SIZE:
        return None
    marker, length, index, crc = _PREFIX.unpack_from(data, at)
    start = at + PREFIX_SIZE
    if marker != MARKER or length < _BODY.size or length > len(data) - start:
        return None
    body = data[start : start + length]
    return Frame(index, body, PREFIX_SIZE + length) if crc32(body, index) == crc else None


def _unfinished(data: bytes, at: int) -> bool:
    left = len(data) - at
    if left < PREFIX_SIZE:
        return MARKER.startswith(data[at : at + len(MARKER)])
    marker, length, _, _ = _PREFIX.unpack_from(data, at)
    return bool(marker == MARKER and length > left - PREFIX_SIZE)
