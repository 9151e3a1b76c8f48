"""Trace ids that every tool of the W3C's Trace Context takes, whatever the user has to name a trace by."""

import hashlib
import re
from typing import Final, NamedTuple

_VALID: Final = re.compile(r"(?!0{32})[0-9a-f]{32}")
_TRACEPARENT: Final = re.compile(
    r"(?P<version>(?!ff)[0-9a-f]{2})-(?P<trace>(?!0{32})[0-9a-f]{32})-(?P<span>(?!0{16})[0-9a-f]{16})-[0-9a-f]{2}(?P<more>-.*)?"
)


class ForeignParent(NamedTuple):
    """A span of somebody else's that a run is part of."""

    trace_id: str
    span_id: str


def parse_traceparent(header: str) -> ForeignParent | None:
    """Trace and span of a ``traceparent`` header; None if it is not one. Later versions may say more behind it."""
    found = _TRACEPARENT.fullmatch(header.strip())
    if found is None or (found["version"] == "00" and found["more"]):
        return None
    return ForeignParent(found["trace"], found["span"])


def trace_id_of(name: str) -> str:
    """The trace id that stands for a name: 32 lower-case hexadecimal digits, the same for the same name everywhere.

    A trace id is itself, in capitals or written as a UUID too. Anything else is hashed.
    """
    plain = name.strip().replace("-", "").lower()
    if _VALID.fullmatch(plain):
        return plain
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
