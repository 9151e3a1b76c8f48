"""Records of one run that were not kept: counted at once, told by EventsDropped when something can be kept again."""

from typing import Any, Final

from tachograph.producers.run_messages import rfc3339
from tachograph.schemas.enums import DropReason

_MOST_TYPES: Final = 16  # names in one EventsDropped record: there are only twelve types


class Losses:
    """Records of one reason that were not kept and are not reported yet."""

    __slots__ = ("count", "first_at", "types")

    def __init__(self, first_at: int) -> None:
        self.count = 0
        self.first_at = first_at
        self.types: dict[str, None] = {}

    def add(self, name: str) -> None:
        """One more, of this type."""
        self.count += 1
        if len(self.types) < _MOST_TYPES:
            self.types[name] = None

    def body(self, reason: DropReason) -> dict[str, Any]:
        """EventsDropped."""
        return {
            "count": self.count,
            "reason": reason.value,
            "first_at": rfc3339(self.first_at),
            "record_types": list(self.types),
        }
