"""Sees to it that the records of a partition are processed in order and without holes.

Between the broker and the agent, records pass through queues that are cleared on rebalances and seeks that race with
fetches. A record that went missing there would be lost for good once a later one is committed, and a later one that
came first would make the earlier ones look like repeats. So the worker checks offsets itself: after a hole it asks for
the partition to be read again from where the hole begins, and only what is missing the second time too is taken for
missing on the broker, as the offsets of transaction markers and of expired records are.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import Final


class Verdict(Enum):
    """What to do with a record."""

    PROCESS = auto()
    DROP = auto()
    """It was processed, or it will be read again."""
    REREAD = auto()
    """Drop it, and read the partition again from :meth:`Continuity.expected`."""


class Continuity:
    """Follows the offsets of every partition for as long as what is in memory of it is sound."""

    def __init__(self, committed: Callable[[int], int | None]) -> None:
        self._committed: Final = committed
        """Where a partition starts; None where nothing was committed yet."""
        self._epochs: dict[int, object] = {}
        self._expected: dict[int, int | None] = {}
        self._holes: dict[int, int] = {}
        """Offset after the hole that is being read again, by partition."""

    def follow(self, partition: int, epoch: object) -> None:
        """Records of a partition follow. In a new epoch (its runs were read anew) it starts at what is committed."""
        if self._epochs.get(partition) is not epoch:
            self._epochs[partition] = epoch
            self._expected[partition] = self._committed(partition)
            self._holes.pop(partition, None)

    def expected(self, partition: int) -> int | None:
        """Offset that comes next; None if any may."""
        return self._expected[partition]

    def admit(self, partition: int, offset: int) -> Verdict:
        """Judge the next record of a partition."""
        expected = self.expected(partition)
        if expected is not None and offset < expected:
            return Verdict.DROP
        if expected is None or offset == expected or offset == self._holes.get(partition):
            self._expected[partition] = offset + 1
            self._holes.pop(partition, None)
            return Verdict.PROCESS
        if offset > self._holes.get(partition, offset):
            return Verdict.DROP
        self._holes[partition] = offset
        return Verdict.REREAD
