"""A collector in this process that can be made to fail, and keeps what it acknowledged."""

from collections.abc import Sequence

from tachograph.sinks.errors import CollectorUnreachableError
from tachograph.sinks.otlp.delivery import Delivered
from tachograph.sinks.otlp.requests import Exported, Item


class Takes:
    """Takes everything, or only so many batches."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.fails_after: int | None = None

    def send(self, signal: Exported, items: Sequence[Item], /) -> Delivered:
        del signal
        if self.fails_after == 0:
            raise CollectorUnreachableError("away")
        if self.fails_after is not None:
            self.fails_after -= 1
        self.taken += [item.told.SerializeToString() for item in items]
        return Delivered(len(items))
