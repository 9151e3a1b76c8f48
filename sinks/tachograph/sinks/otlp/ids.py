"""Ids and times as OTLP has them. The same row gives the same bytes, so that a repeat is the same span. Pure."""

import hashlib
import re
from functools import lru_cache
from typing import Final

from tachograph.schemas.trace_ids import trace_id_of

_SPAN_ID: Final = re.compile(r"(?!0{16})[0-9a-f]{16}")
_LATEST_NS: Final = 2**63 - 1
"""OTLP has 64 bits without a sign; many readers have one."""


@lru_cache(maxsize=4096)  # spans of a run come together
def trace_bytes(trace_id: str, tenant_id: str, run_id: str) -> bytes:
    """A W3C trace id. What is none stands for itself, hashed; a run without a trace is its own."""
    return bytes.fromhex(trace_id_of(trace_id or f"{tenant_id}/{run_id}"))


def span_bytes(span_id: str) -> bytes:
    """A W3C span id; nothing for nothing. What is none stands for itself, hashed."""
    if not span_id:
        return b""
    lower = span_id.lower()
    if _SPAN_ID.fullmatch(lower):
        return bytes.fromhex(lower)
    return hashlib.sha256(span_id.encode("utf-8", "surrogatepass")).digest()[:8]


def nanoseconds(microseconds: int) -> int:
    """Since 1970. A clock that is wilder than the format is shown at its edge."""
    return min(max(microseconds * 1000, 0), _LATEST_NS)


def later(start_ns: int, milliseconds: int | None) -> int:
    """The end of what took so long."""
    return min(start_ns + max(milliseconds or 0, 0) * 1_000_000, _LATEST_NS)
