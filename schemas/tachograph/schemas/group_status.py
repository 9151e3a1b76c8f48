"""What a member of a consumer group says of itself: whether it goes round, is in its group, and is at work.

The Kafka client tells how it stands with brokers and group every few seconds, whenever its consumer is asked for
messages. That is better than to remember assignments: it also says when a broker has gone away.
"""

import json
import time
from collections.abc import Callable
from typing import Any, Final

from prometheus_client import REGISTRY, Gauge, generate_latest

LOOK_EVERY_MS: Final = 2000
"""Time between two reports of the client. One of 200 partitions is 250 KB and takes 2 ms to read."""


class GroupStatus:
    """Written by the process's loop, asked by the threads of a status server."""

    def __init__(
        self,
        name: str,
        *,
        silent_s: float,
        lag: Gauge | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``silent_s``: time without a round of the loop after which it counts as hung; Kafka gives up then, too."""
        self._name = name
        self._silent_s = silent_s
        self._lag = lag
        self._clock = clock
        self._heard_at = clock()
        self._outside = f"{name} is not in its consumer group yet"
        self._away: str | None = self._outside
        self._lags: list[tuple[str, str, int]] = []
        self.trouble: str | None = None
        """Why nothing gets done although the group has us. The loop sets it, and takes it back."""

    def client(self) -> dict[str, Any]:
        """Settings of the consumer that is watched from now on, which is in no group yet and in no trouble."""
        self._away, self._lags, self.trouble = self._outside, [], None
        return {"statistics.interval.ms": LOOK_EVERY_MS, "stats_cb": self.hear}

    def go_round(self) -> None:
        """The loop has come to its beginning again."""
        self._heard_at = self._clock()

    def hear(self, statistics: str) -> None:
        """Take a report of the client (librdkafka's STATISTICS.md)."""
        found = json.loads(statistics)
        group = found.get("cgrp", {})
        if not any(broker["state"] == "UP" for broker in found["brokers"].values()):
            self._away = "Kafka does not answer"
        elif (group.get("state"), group.get("join_state")) != ("up", "steady"):
            self._away = self._outside
        else:
            self._away = None
        self._lags = _lags(found)

    def metrics(self) -> bytes:
        """Every metric of the process."""
        if self._lag is not None:
            self._lag.clear()
            for topic, partition, messages in self._lags:
                self._lag.labels(topic, partition).set(messages)
        return generate_latest(REGISTRY)

    def dead(self) -> str | None:
        """Whether the loop goes round."""
        if self._clock() - self._heard_at < self._silent_s:
            return None
        return f"{self._name} has not asked Kafka for anything for {self._silent_s:g} s"

    def not_ready(self) -> str | None:
        """What it waits for."""
        return self._away or self.trouble


def _lags(statistics: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Topic, partition and messages that are not dealt with, of what is being read and where both ends are known."""
    found = []
    for topic, known in statistics["topics"].items():
        for partition, place in known["partitions"].items():
            committed = place["committed_offset"]
            done = committed if committed >= 0 else place["app_offset"]
            if place["fetch_state"] == "active" and min(done, place["ls_offset"]) >= 0:
                found.append((topic, partition, max(0, place["ls_offset"] - done)))
    return found
