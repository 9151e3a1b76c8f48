"""Faust's Kafka transport with acknowledgement by batch.

Faust acknowledges messages one by one and commits the longest row of acknowledged offsets. Several of its paths
acknowledge what no one has processed: an agent that raised, a message that was buffered when a rebalance began, a
stream whose ``noack_take`` was left. Here only :meth:`WorkerConsumer.done` moves an offset, so none of these can.
"""

import logging
from collections.abc import Iterable, Iterator
from typing import Any, Final

from faust.transport.drivers.aiokafka import Consumer, Transport
from faust.types import TP

FAUST_LOG: Final = logging.getLogger("faust.worker")
"""Where Faust's own parts log. Its classes would take the module of their subclass, and so escape Faust's level."""


class WorkerConsumer(Consumer):
    """Commits what the worker says is done, and nothing else."""

    logger = FAUST_LOG

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._done: dict[TP, int] = {}
        super().__init__(*args, **kwargs)

    def done(self, tp: TP, next_offset: int) -> None:
        """Everything below ``next_offset`` is stored, as are the states that remember it."""
        self._done[tp] = next_offset

    def ack(self, message: Any) -> bool:  # noqa: ARG002 - Faust's signature
        """Faust's acknowledgement of a single message means nothing here."""
        return False

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """A new generation starts from what is committed."""
        self._done.clear()
        await super().on_partitions_assigned(assigned, generation_id)

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Leave out Faust's watch for streams that stand still: it reads times that its monitor no longer takes."""

    def _filter_tps_with_pending_acks(self, topics: Iterable[Any] | None = None) -> Iterator[TP]:
        return iter([tp for tp in self._done if topics is None or tp in topics or tp.topic in topics])

    def _new_offset(self, tp: TP) -> int | None:
        return self._done.get(tp)


class WorkerTransport(Transport):
    """Kafka through aiokafka, with our consumer."""

    Consumer = WorkerConsumer
