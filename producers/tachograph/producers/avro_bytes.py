"""Avro's bytes for the few types that are written by hand: numbers, texts, and the envelope of a record."""

from collections.abc import Callable
from typing import Final

ENVELOPE: Final = ("tenant_id", "agent_id", "event_id", "trace_id", "run_id", "seq", "occurred_at")
"""Fields that every record starts with, in this order."""

_SMALL: Final = tuple(bytes([number]) for number in range(128))


def avro_long(number: int) -> bytes:
    """Zig-zag varint."""
    number = (number << 1) ^ (number >> 63)
    if number < 128:  # noqa: PLR2004 - seven bits
        return _SMALL[number]
    out = bytearray()
    while number > 127:  # noqa: PLR2004 - seven bits
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def avro_string(text: str) -> bytes:
    """Length and UTF-8."""
    data = text.encode()
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

    def write(prefix: bytes, event_id: str, seq: int, occurred_at: int) -> bytes:
        return b"".join((prefix, who, avro_string(event_id), where, avro_long(seq), avro_long(occurred_at)))

    return write
