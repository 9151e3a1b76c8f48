"""A bounded memory of ids: short digests side by side, the oldest forgotten first.

Kept as bytes because it is part of a run's state, which is written once per run per batch: finding one of 256 entries
takes less than a microsecond, and encoding all of them takes three.
"""

from base64 import b64decode, b64encode
from hashlib import blake2b
from typing import Final

_KEY: Final = 8
"""Bytes of a key's digest. Among 2,000 ids of a run, two share one with a chance of 1 in 10^13."""


def digest(value: bytes) -> bytes:
    """Eight bytes that stand for a value."""
    return blake2b(value, digest_size=_KEY).digest()


class Digests:
    """Ids that were seen, each with a note of fixed length."""

    __slots__ = ("_bytes", "_most", "_width", "forgot")

    def __init__(self, most: int, note: int = 0) -> None:
        self._bytes = bytearray()
        self._width = _KEY + note
        self._most = most * self._width
        self.forgot = False
        """Whether an entry had to make room for another: what is not found may have been there."""

    def find(self, key: str) -> bytes | None:
        """Note of a key (empty if notes have no length); None if it is not remembered."""
        wanted = digest(key.encode(errors="surrogatepass"))
        place = self._bytes.find(wanted)
        while place >= 0:
            if place % self._width == 0:
                return bytes(self._bytes[place + _KEY : place + self._width])
            place = self._bytes.find(wanted, place + 1)
        return None

    def add(self, key: str, note: bytes = b"") -> None:
        """Remember a key, as the newest."""
        self._bytes += digest(key.encode(errors="surrogatepass")) + note
        if len(self._bytes) > self._most:
            del self._bytes[: self._width]
            self.forgot = True

    def to_json(self) -> list[object]:
        """As part of a state."""
        return [b64encode(self._bytes).decode(), self.forgot]

    def restore(self, value: list[object]) -> None:
        """Read :meth:`to_json` back."""
        text, forgot = value
        assert isinstance(text, str)
        self._bytes, self.forgot = bytearray(b64decode(text)), bool(forgot)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Digests) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __len__(self) -> int:
        return len(self._bytes) // self._width
