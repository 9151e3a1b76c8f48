"""Which offsets may be committed: those below which everything was delivered or became a dead letter."""

from collections import Counter
from collections.abc import Mapping

from tachograph.sinks.alerts.alert import Place

Partition = tuple[str, int]


class Ledger:
    """What was read, and what of it is still owed to somebody."""

    def __init__(self) -> None:
        self._owed: dict[Partition, Counter[int]] = {}
        self._next: dict[Partition, int] = {}

    def read(self, place: Place, owed: int) -> None:
        """A message was read that is owed to so many receivers; to none, it is done at once."""
        partition = place.topic, place.partition
        self._next[partition] = place.offset + 1
        if owed:
            self._owed.setdefault(partition, Counter())[place.offset] += owed

    def settled(self, place: Place) -> None:
        """One receiver has it, or it is a dead letter. A partition that was given up is not heard of again."""
        owed = self._owed.get((place.topic, place.partition))
        if owed is None or not owed[place.offset]:
            return
        owed[place.offset] -= 1
        if not owed[place.offset]:
            del owed[place.offset]

    def forget(self, partition: Partition) -> None:
        """The partition belongs to another member now."""
        self._owed.pop(partition, None)
        self._next.pop(partition, None)

    @property
    def committable(self) -> Mapping[Partition, int]:
        """Offset to go on from, by partition."""
        return {
            partition: min(self._owed.get(partition) or (following,)) for partition, following in self._next.items()
        }

    @property
    def waiting(self) -> int:
        """Deliveries still owed."""
        return sum(owed.total() for owed in self._owed.values())
