"""How often a receiver may be bothered, and how long to wait after it failed. Both take their clock."""

from tachograph.sinks.alerts.routes import Rate, Retry


class Allowance:
    """A bucket of messages that refills evenly."""

    def __init__(self, rate: Rate) -> None:
        self._most = float(rate.messages)
        self._per_second = rate.messages / rate.per_s
        self._left = self._most
        self._at = 0.0

    def free_at(self, now: float) -> float:
        """When the next message may go: ``now``, or later."""
        left = self._refilled(now)
        return now if left >= 1 else now + (1 - left) / self._per_second

    def take(self, now: float) -> None:
        """One message goes."""
        self._left = self._refilled(now) - 1
        self._at = now

    def _refilled(self, now: float) -> float:
        # A clock that was put back refills nothing, and takes nothing.
        return min(self._most, self._left + max(0.0, now - self._at) * self._per_second)


def next_wait(retry: Retry, attempts: int, *, asked_s: float = 0.0) -> float:
    """Seconds to wait after ``attempts`` failures. A receiver that names a longer wait gets it, within the limit."""
    doubled = retry.first_s * 2.0 ** min(attempts - 1, 60)
    return min(retry.longest_s, max(doubled, asked_s))
