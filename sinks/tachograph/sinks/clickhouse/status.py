"""What a sink says of itself over HTTP."""

import time
from collections.abc import Callable
from typing import Final

from prometheus_client import REGISTRY, generate_latest

from tachograph.sinks.clickhouse import metrics
from tachograph.sinks.clickhouse.reader import Reader

SILENT_S: Final = 120.0
"""Time without a round of the loop after which it counts as hung. Dead letters may take a minute to be delivered."""


class SinkStatus:
    """Asks the sink that is at work; ``follow`` a new one whenever it joins anew."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reader: Reader | None = None

    def follow(self, reader: Reader) -> None:
        """A sink joins the group."""
        self._reader = reader

    def metrics(self) -> bytes:
        """Every metric."""
        reader = self._reader
        metrics.LAG.clear()
        for (topic, partition), messages in (reader.lag if reader is not None else {}).items():
            metrics.LAG.labels(topic, str(partition)).set(messages)
        return generate_latest(REGISTRY)

    def dead(self) -> str | None:
        """Whether the loop goes round."""
        reader = self._reader
        if reader is None or self._clock() - reader.heard_at < SILENT_S:
            return None
        return f"the sink has not asked Kafka for anything for {SILENT_S:g} s"

    def not_ready(self) -> str | None:
        """What the sink waits for."""
        reader = self._reader
        if reader is None or not reader.joined:
            return "the sink has no partitions yet"
        return reader.trouble
