"""The Faust table of runs: recovered by Faust from its changelog, written by the worker itself.

Faust sends changes of a table "soon", from a queue of futures that nobody waits for. Here the worker writes them, with
the producer that wrote the outputs, to the partition that the input came from, whatever the run's key would hash to,
and knows when they are stored. What is left to Faust is what it does well: reading the changelog of newly assigned
partitions before any of their records are handed out.
"""

from collections.abc import Callable, Iterable
from typing import Any, cast

import faust
from faust.tables.manager import TableManager
from faust.tables.recovery import Recovery
from faust.types import TP

from tachograph.processors.runs import Runs
from tachograph.processors.transport import FAUST_LOG


class RunTable(faust.Table[bytes, bytes]):
    """States of the runs of every partition this worker holds."""

    logger = FAUST_LOG

    def __init__(self, app: Any, *, partitions: int, on_error: Callable[[Exception], None]) -> None:
        super().__init__(app, name="runs", key_type=bytes, value_type=bytes, partitions=partitions)
        self._on_error = on_error
        self._runs: dict[int, Runs] = {}
        self._held: set[int] = set()
        self.in_hand: set[int] = set()
        """Partitions of the batch that is being worked on."""
        self.recovered = False
        """Whether the runs of all partitions that are held have been read."""

    def runs(self, partition: int) -> Runs | None:
        """Runs of a partition, or None if it is not this worker's.

        A new object whenever what was in memory may no longer be what the broker has: who holds on to an old one must
        neither save nor acknowledge.
        """
        if partition not in self._held:
            return None
        return self._runs.setdefault(partition, Runs())

    def held(self) -> dict[int, Runs]:
        """Runs by partition, of those partitions that have any."""
        return {partition: runs for partition, runs in self._runs.items() if partition in self._held}

    @property
    def partitions_held(self) -> frozenset[int]:
        """Partitions that are this worker's."""
        return frozenset(self._held)

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Forget the runs of partitions that went away, and of those that a batch in hand has half changed."""
        self.recovered = False
        await super().on_rebalance(assigned, revoked, newly_assigned, generation_id)
        changelog = self.changelog_topic_name
        self._held = {tp.partition for tp in assigned if tp.topic == changelog}
        for partition in [*self._runs]:
            if partition not in self._held or partition in self.in_hand:
                del self._runs[partition]
                # Faust would otherwise read on from where it stopped at the last recovery.
                self._recovery.revoke(TP(changelog, partition))

    def apply_changelog_batch(self, batch: Iterable[Any]) -> None:
        """Restore what Faust read from the changelog."""
        try:
            for event in batch:
                message = event.message
                runs = self.runs(message.partition)
                if runs is not None:
                    runs.restore(message.key, message.value)
        except Exception as error:  # noqa: BLE001 - Faust would log it and go on without the state
            self._on_error(error)

    async def on_recovery_completed(self, active_tps: set[TP], standby_tps: set[TP]) -> None:
        """Everything is restored."""
        await super().on_recovery_completed(active_tps, standby_tps)
        for runs in self._runs.values():
            runs.settle()
        self.recovered = True

    @property
    def _recovery(self) -> Recovery:
        return cast("TableManager", self.app.tables).recovery
