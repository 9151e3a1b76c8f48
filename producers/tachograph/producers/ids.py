"""Identifiers: UUIDv7 for records and runs, W3C hex for traces and spans."""

import os
import random
import time
from collections.abc import Callable
from itertools import count
from typing import Final, Protocol

_VERSION_AND_VARIANT: Final = 0x7 << 76 | 0x2 << 62
_RANDOM: Final = 0xFFF << 64 | (1 << 62) - 1


class Ids(Protocol):
    """Where new identifiers come from."""

    def uuid(self) -> str:
        """A new UUID, ordered by time."""

    def trace_id(self) -> str:
        """32 hexadecimal digits, not all zero."""

    def span_id(self) -> str:
        """16 hexadecimal digits, not all zero."""


# A generator of our own: agents seed the shared one. Ids must be unique, not secret; reading the system's randomness
# for each would be half of an id's cost (0.6 of 1.2 µs).
_NOISE: Final = random.Random()  # noqa: S311 - ids must be unique, not secret
_LAST: Final = (1 << 48) - 1


class RandomIds:
    """Random identifiers. Safe across threads and forks."""

    _recent = (-1, "")  # a millisecond and the ids' beginning within it: a tool call needs four ids
    _count = count(_NOISE.getrandbits(47))

    def uuid(self) -> str:
        """UUIDv7: 48 bits of milliseconds, 26 random bits, and a counter with a random start."""
        return self.uuid_at(time.time_ns() // 1_000_000)

    def uuid_at(self, now_ms: int) -> str:
        """The UUID of something that happened at this millisecond since 1970."""
        time_ms, prefix = self._recent
        if now_ms != time_ms:
            noise = _NOISE.getrandbits(26)
            high, low = now_ms >> 16, now_ms & 0xFFFF
            prefix = f"{high:08x}-{low:04x}-7{noise >> 14:03x}-{0x8000 | noise & 0x3FFF:04x}-"
            self._recent = (now_ms, prefix)
        # Unique in this process by the counter alone, which no two threads get the same number from.
        return f"{prefix}{next(self._count) & _LAST:012x}"

    def trace_id(self) -> str:
        """Random trace id."""
        return f"{_NOISE.getrandbits(128) or 1:032x}"

    def span_id(self) -> str:
        """Random span id."""
        return f"{_NOISE.getrandbits(64) or 1:016x}"


def _forked() -> None:
    # Or parent and child would give out the same ids.
    _NOISE.seed()
    RandomIds._count = count(_NOISE.getrandbits(47))  # noqa: SLF001 - our own


os.register_at_fork(after_in_child=_forked)


def id_maker(ids: Ids) -> Callable[[int], str]:
    """What gives a UUID to something that happened a while ago, in microseconds since 1970."""
    if isinstance(ids, RandomIds):
        return lambda micros: ids.uuid_at(micros // 1000)
    return lambda _: ids.uuid()
