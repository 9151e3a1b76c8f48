"""Faust's Kafka transport with acknowledgement by batch.

Faust acknowledges messages one by one and commits the longest row of acknowledged offsets. Several of its paths
acknowledge what no one has processed: an agent that raised, a message that was buffered when a rebalance began, a
stream whose ``noack_take`` was left. Here only :meth:`WorkerConsumer.done` moves an offset, so none of these can.

It also loses records at the end of a recovery, in two races. It hands the set of partitions to fetch from to another
thread and then empties it, which the fetch takes for "any partition", so that records come that nobody wants and are
thrown away, while the position has moved on. And it resumes partitions before it seeks in them, clears the queue that
their records are in, and takes the ones it reads again for old. Here a fetch has a set of its own, partitions are
resumed when the seek is over, and which records are old is for :mod:`tachograph.processors.continuity` to say.
"""

import logging
from collections.abc import Iterable, Iterator
from inspect import iscoroutine
from typing import Any, Final

from faust.transport.drivers.aiokafka import Consumer, Transport
from faust.types import TP
from mode.services import WaitResults

from tachograph.processors.first_step import begin

FAUST_LOG: Final = logging.getLogger("faust.worker")
"""Where Faust's own parts log. Its classes would take the module of their subclass, and so escape Faust's level."""

_MESSAGE_OR_SUSPENSION: Final = 2
"""What Faust waits for with every message: that it is in its queue, or that the flow is suspended."""


class WorkerConsumer(Consumer):
    """Commits what the worker says is done, and nothing else."""

    logger = FAUST_LOG

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._done: dict[TP, int] = {}
        self._held_back: set[TP] = set()
        super().__init__(*args, **kwargs)
        self._read_offset = _NoneRead()

    def done(self, tp: TP, next_offset: int) -> None:
        """Everything below ``next_offset`` is stored, as are the states that remember it."""
        self._done[tp] = next_offset

    def committed(self, tp: TP) -> int | None:
        """Offset that was committed last, or None if nothing was."""
        offset = self._committed_offset[tp]
        return offset if offset is not None and offset >= 0 else None

    def lag(self, tp: TP) -> int | None:
        """Records on the broker that are not done; None if the end is not known yet."""
        end = self.highwater(tp) if tp in self.assignment() else None
        return None if end is None else max(0, end - (self._done.get(tp) or self.committed(tp) or 0))

    def pause_partitions(self, tps: Iterable[TP]) -> None:
        """Stop handing out records of these partitions."""
        tps = set(tps)
        self._held_back -= tps
        super().pause_partitions(tps)

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        """Hand out records of a changelog at once, and of other topics when the flow is resumed.

        Faust resumes them, seeks, clears its queues and resumes the flow, in this order.
        """
        changelogs = {tp for tp in tps if self._is_changelog_tp(tp)}
        self._held_back |= set(tps) - changelogs
        super().resume_partitions(changelogs)

    def resume_flow(self) -> None:
        """Hand out records again, those of partitions held back included."""
        super().resume_flow()
        if self._held_back:
            held_back, self._held_back = self._held_back, set()
            super().resume_partitions(held_back)

    def ack(self, message: Any) -> bool:  # noqa: ARG002 - Faust's signature
        """Faust's acknowledgement of a single message means nothing here."""
        return False

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """A new generation starts from what is committed."""
        self._done.clear()
        await super().on_partitions_assigned(assigned, generation_id)

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Leave out Faust's watch for streams that stand still: it reads times that its monitor no longer takes."""

    async def wait_first(self, *coros: Any, timeout: Any = None) -> WaitResults:  # noqa: ASYNC109 - Faust's
        """As Faust's, without tasks for what need not wait.

        Faust hands every message to its queue in a task of its own, beside three more that wait for the flow to be
        suspended, for a stop and for a crash. Nearly always the queue has room, and the first step is the last.
        """
        if len(coros) != _MESSAGE_OR_SUSPENSION or not all(map(iscoroutine, coros)):
            return await super().wait_first(*coros, timeout=timeout)
        message, suspension = coros
        begun = begin(message)
        if begun.rest is not None:
            return await super().wait_first(begun.rest, suspension, timeout=timeout)
        suspension.close()
        return WaitResults([message], [begun.result], stopped=False)

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Any:  # noqa: ASYNC109 - Faust's
        wanted = set(active_partitions or ())
        return await super()._getmany(wanted, timeout) if wanted else {}

    def _filter_tps_with_pending_acks(self, topics: Iterable[Any] | None = None) -> Iterator[TP]:
        return iter([tp for tp in self._done if topics is None or tp in topics or tp.topic in topics])

    def _new_offset(self, tp: TP) -> int | None:
        return self._done.get(tp)


class _NoneRead(dict[TP, int | None]):
    """Faust's memory of what it has read, without memory: it would drop what is read again on purpose."""

    def __getitem__(self, tp: TP) -> int | None:
        return None

    def __setitem__(self, tp: TP, offset: int | None) -> None:
        pass

    def update(self, *_args: Any, **_kwargs: Any) -> None:
        pass


class WorkerTransport(Transport):
    """Kafka through aiokafka, with our consumer."""

    Consumer = WorkerConsumer
