"""When to start a dead child again. Decides; does nothing."""

from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]
"""Seconds, monotonic."""


@dataclass(frozen=True)
class Backoff:
    """How the waits grow."""

    first_s: float = 0.5
    """Wait after the first death. Short: most deaths are a single accident."""

    factor: float = 2.0
    """Each further wait is this much longer."""

    longest_s: float = 30.0
    """No wait is longer. A child that cannot live costs two starts a minute, and comes back soon after it is mended."""

    healthy_after_s: float = 60.0
    """A life this long forgets the deaths before it."""


class RestartPolicy:
    """The deaths of one child, and how long to wait after each."""

    def __init__(self, clock: Clock, backoff: Backoff | None = None) -> None:
        self._clock = clock
        self._backoff = backoff or Backoff()
        self._started_at = clock()
        self.deaths = 0

    def started(self) -> None:
        """The child was started now."""
        self._started_at = self._clock()

    def died(self) -> float:
        """The child died now: seconds to wait before the next start."""
        if self._clock() - self._started_at >= self._backoff.healthy_after_s:
            self.deaths = 0
        self.deaths += 1
        # Past 64 doublings any wait is the longest one, and the power would overflow.
        exponent = min(self.deaths - 1, 64)
        return min(self._backoff.first_s * self._backoff.factor**exponent, self._backoff.longest_s)
