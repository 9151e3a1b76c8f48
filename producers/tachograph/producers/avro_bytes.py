"""Avro's bytes for the few types that are written by hand: numbers, texts, and the envelope of a record."""

from collections.abc import Callable
from typing import Final

ENVELOPE: Final = ("tenant_id", "agent_id", "event_id", "trace_id", "run_id", "seq", "occurred_at")
"""Fields that every record starts with, in this order."""

_SMALL: Final = tuple(bytes([number]) for number in range(128))
_ONE_BYTE: Final = 1 << 7
_TWO_BYTES: Final = 1 << 14
_FOUR_BYTES: Final = 1 << 28


def avro_long(number: int) -> bytes:
    """Zig-zag varint."""
    number = (number << 1) ^ (number >> 63)
    if number < _ONE_BYTE:
        return _SMALL[number]
    if number < _TWO_BYTES:
        return bytes((number & 127 | 128, number >> 7))
    return _varint(number)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= _ONE_BYTE:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def avro_string(text: str) -> bytes:
    """Length and UTF-8."""
    data = text.encode()
    doubled = len(data) << 1  # zig-zag of a length; most strings are short, so the two short forms are spelt out here
    if doubled < _ONE_BYTE:
        return _SMALL[doubled] + data
    if doubled < _TWO_BYTES:
        return bytes((doubled & 127 | 128, doubled >> 7)) + data
    return avro_long(len(data)) + data


def avro_optional(text: str | None) -> bytes:
    """Union of null and string."""
    return b"\x00" if text is None else b"\x02" + avro_string(text)


def envelope_writer(
    tenant_id: str, agent_id: str, trace_id: str, run_id: str
) -> Callable[[bytes, str, int, int], bytes]:
    """A function that writes prefix and envelope of one run's records."""
    who = avro_string(tenant_id) + avro_string(agent_id)
    where = avro_optional(trace_id) + avro_optional(run_id)
    recent = (-1, b"")  # upper bits of the time, which change every two minutes, and their bytes

    def write(prefix: bytes, event_id: str, seq: int, occurred_at: int) -> bytes:
        nonlocal recent
        time = occurred_at << 1
        if time < _FOUR_BYTES:  # a clock before 1970 or just after: any form will do, if it is right
            return b"".join((prefix, who, avro_string(event_id), where, avro_long(seq), avro_long(occurred_at)))
        upper, upper_bytes = recent
        if time >> 28 != upper:
            upper = time >> 28
            upper_bytes = _varint(upper)
            recent = (upper, upper_bytes)
        lower = bytes((time & 127 | 128, time >> 7 & 127 | 128, time >> 14 & 127 | 128, time >> 21 & 127 | 128))
        return b"".join((prefix, who, avro_string(event_id), where, avro_long(seq), lower, upper_bytes))

    return write
