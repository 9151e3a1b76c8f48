"""Time as the recorder reads it. A constructor parameter, so that tests own it."""

import time
from typing import Protocol


class Clock(Protocol):
    """Two readings: the moment for records, and a steady one for durations."""

    def now_micros(self) -> int:
        """Microseconds since 1970, UTC."""

    def steady_ns(self) -> int:
        """Nanoseconds of a clock that never goes back; only differences mean something."""


class SystemClock:
    """The machine's clocks."""

    def now_micros(self) -> int:
        """Wall clock."""
        return time.time_ns() // 1000

    steady_ns = staticmethod(time.perf_counter_ns)
    """Monotonic clock; read twice in every tool call, so without a call of ours around it."""
