"""The stories' own time. Nothing waits for it, and durations are the same on every machine."""

from datetime import datetime
from typing import Final

_RECORDING_MICROS: Final = 1000
"""Time between two records, so that moments are in the order of the records."""


class StoryClock:
    """Stands still unless somebody in the story takes time, or something is recorded."""

    def __init__(self, start: datetime) -> None:
        self._micros = int(start.timestamp() * 1_000_000)

    def now_micros(self) -> int:
        """The moment of a record."""
        self._micros += _RECORDING_MICROS
        return self._micros

    def steady_ns(self) -> int:
        """The same time, for durations."""
        return self._micros * 1000

    def pass_time(self, milliseconds: int) -> None:
        """The story goes on."""
        self._micros += milliseconds * 1000
