"""The loop: a batch in, outputs stored, states stored, offsets done. In that order, always.

What a crash between the steps leaves behind:

* outputs stored, states not: the batch is read again, the core makes the same outputs, and the sink drops them because
  their source coordinates are not above the highest it has landed;
* states stored, offsets not committed: the records are read again and skipped, because the states hold them.

A worker that lost a partition without knowing it is the first case seen from the other side: its late outputs carry
coordinates that its successor's already cover, or that its successor will repeat. It saves no state and commits
nothing for a partition whose runs were replaced meanwhile (:meth:`RunTable.runs`); should one of its state writes be on
the wire at that moment, recovery prefers the state that applied more (:meth:`Runs.restore`).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from time import perf_counter, time
from typing import Any, Final

from faust.types import TP

from tachograph.processors.batch import Batch, BatchProcessor
from tachograph.processors.continuity import Continuity, Verdict
from tachograph.processors.deadletters import Message, RawRecord
from tachograph.processors.errors import WorkerCrashedError, WorkerError
from tachograph.processors.metrics import WorkerMetrics
from tachograph.processors.names import TopicNames
from tachograph.processors.outputs import Outputs
from tachograph.processors.replay import unwritten
from tachograph.processors.runs import Runs
from tachograph.processors.sweep import sweep
from tachograph.processors.table import RunTable
from tachograph.schemas.settings import WorkerSettings

_MICROS: Final = 1_000_000
_PART: Final = 250
"""Records applied without a pause: about 50 ms."""

log = logging.getLogger(__name__)


class Worker:
    """One Faust agent over the events topic. ``failed`` ends with the error that stopped it."""

    def __init__(
        self,
        app: Any,
        names: TopicNames,
        settings: WorkerSettings,
        *,
        partitions: int,
        processor: BatchProcessor,
        outputs: Outputs,
        metrics: WorkerMetrics,
        clock: Callable[[], float] = time,
        written: Mapping[int, int] | None = None,
    ) -> None:
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._app = app
        self._names = names
        self._settings = settings
        self._processor = processor
        self._outputs = outputs
        self._metrics = metrics
        self._clock = clock
        self._written = dict(written or {})
        """Offsets before which a replay writes nothing (:mod:`tachograph.processors.replay`), until they are passed."""
        self._stopping = False
        self._in_batch = asyncio.Lock()
        self._continuity = Continuity(lambda partition: app.consumer.committed(TP(names.events, partition)))
        self._table: RunTable = app.tables.add(RunTable(app, partitions=partitions, on_error=self._fail))
        topic = app.topic(
            names.events,
            key_type=bytes,
            value_type=bytes,
            key_serializer="raw",
            value_serializer="raw",
            allow_empty=True,
        )
        app.agent(topic, name="events")(self._consume)
        app.timer(settings.sweep_interval_s)(self._sweep)
        app.on_partitions_revoked.connect(self._give_up_partitions, weak=False)

    async def finish(self) -> None:
        """Finish the batch in hand, commit it, and take no other."""
        self._stopping = True
        async with self._in_batch:
            await self._app.consumer.commit()

    def not_ready(self) -> str | None:
        """What the worker waits for, in a sentence; None if it is at work."""
        if self.failed.done():
            return "the worker has failed and is about to end"
        if self._stopping:
            return "the worker is stopping"
        return None if self._table.recovered else "the worker waits for its partitions and their state"

    def lag(self) -> dict[int, int]:
        """Records waiting on the broker, by partition, where that is known."""
        partitions = self._table.partitions_held if self._table.recovered else ()
        found = {partition: self._app.consumer.lag(TP(self._names.events, partition)) for partition in partitions}
        return {partition: records for partition, records in found.items() if records is not None}

    def joins_waiting(self) -> int:
        """Tool calls in memory that lack a part."""
        return sum(runs.open_calls() for runs in self._table.held().values())

    def runs_held(self) -> int:
        """Runs in memory."""
        return sum(len(runs) for runs in self._table.held().values())

    async def _consume(self, stream: Any) -> None:
        batches: AsyncIterator[list[Any]] = stream.noack_take(
            self._settings.batch_size, within=self._settings.batch_within_s
        )
        async for events in batches:
            async with self._in_batch:
                if self._stopping or self.failed.done():
                    return
                try:
                    await self._handle(events)
                except Exception as error:  # noqa: BLE001 - Faust would acknowledge the batch and go on
                    self._fail(error)
                    return

    async def _handle(self, events: list[Any]) -> None:
        started = perf_counter()
        records, runs, reread = self._admit(events)
        self._table.in_hand = set(runs)
        try:
            batch = await self._process(records, runs)
            await self._outputs.store(self._state_messages(batch, runs))
            for partition, next_offset in batch.next_offsets.items():
                if self._table.runs(partition) is runs[partition]:
                    self._app.consumer.done(TP(self._names.events, partition), next_offset)
            if reread:
                log.warning("records of partitions %s went missing on the way and are read again", sorted(reread))
                await self._app.consumer.seek_wait(
                    {TP(self._names.events, partition): offset for partition, offset in reread.items()}
                )
        finally:
            self._table.in_hand = set()
        self._metrics.add(batch, perf_counter() - started)

    async def _process(self, records: list[RawRecord], runs: dict[int, Runs]) -> Batch:
        """Apply records, and store what comes of them. The producer writes the outputs of one part during the next."""
        batch = Batch()
        for start in range(0, len(records), _PART):
            made = len(batch.messages)
            self._processor.extend(batch, records[start : start + _PART], runs.__getitem__)
            if self._written:
                batch.messages[made:] = unwritten(batch.messages[made:], self._written)
            await self._outputs.hand_over(batch.messages[made:])
            await asyncio.sleep(0)  # the next records come in meanwhile, and somebody may ask how things stand
        self._processor.close(batch, runs.__getitem__)
        for partition, next_offset in batch.next_offsets.items():
            if next_offset >= self._written.get(partition, next_offset):
                self._written.pop(partition, None)
        await self._outputs.store(())
        return batch

    async def _sweep(self, *_args: Any) -> None:
        """Look after runs that fell silent, between two batches."""
        async with self._in_batch:
            if self._stopping or self.failed.done():
                return
            try:
                await self._sweep_partitions()
            except Exception as error:  # noqa: BLE001 - as for a batch: stop without acknowledging
                self._fail(error)

    async def _sweep_partitions(self) -> None:
        held = {partition: runs for partition, runs in self._table.held().items() if runs.open_count()}
        if not held or not self._table.recovered:
            return
        ends = await self._app.consumer.highwaters(*(TP(self._names.events, partition) for partition in held))
        for partition, runs in held.items():
            # What a replay reads was swept before, when it was new.
            if self._table.runs(partition) is not runs or partition in self._written:
                continue
            self._continuity.follow(partition, runs)
            next_offset = self._continuity.expected(partition)
            end = ends.get(TP(self._names.events, partition))
            is_current = end is not None and (next_offset or 0) >= end
            swept = sweep(
                runs,
                # A partition that lags behind has no silence, only records that were not read yet.
                int(self._clock() * _MICROS) if is_current else runs.newest,
                join_timeout=int(self._settings.join_timeout_s * _MICROS),
                silence=int(self._settings.run_silence_s * _MICROS),
            )
            if not swept:
                continue
            self._table.in_hand = {partition}
            try:
                await self._outputs.store(self._processor.swept_messages(partition, swept))
                if self._table.runs(partition) is runs:
                    changelog = self._table.changelog_topic_name
                    await self._outputs.store(
                        Message(changelog, partition, item.key, item.state.to_bytes(), []) for item in swept
                    )
            finally:
                self._table.in_hand = set()

    def _admit(self, events: list[Any]) -> tuple[list[RawRecord], dict[int, Runs], dict[int, int]]:
        """The records to process, the runs of their partitions, and from where partitions must be read again."""
        generation = self._app.consumer_generation_id
        records: list[RawRecord] = []
        runs: dict[int, Runs] = {}
        reread: dict[int, int] = {}
        for event in events:
            message = event.message
            partition, offset = message.partition, message.offset
            # Read under an earlier assignment: it is read again under this one, if it is still ours.
            if message.generation_id != generation:
                continue
            if partition not in runs:
                held = self._table.runs(partition)
                if held is None:
                    continue
                runs[partition] = held
                self._continuity.follow(partition, held)
            verdict = self._continuity.admit(partition, offset)
            if verdict is Verdict.PROCESS:
                records.append(_raw(message))
            elif verdict is Verdict.REREAD:
                reread[partition] = self._continuity.expected(partition) or 0
        return records, runs, reread

    def _state_messages(self, batch: Batch, runs: dict[int, Runs]) -> Iterator[Message]:
        changelog = self._table.changelog_topic_name
        for partition, held in runs.items():
            if self._table.runs(partition) is not held:
                continue
            for key, state in batch.changed.get(partition, {}).items():
                yield Message(changelog, partition, key, state.to_bytes(), [])
            for key in batch.forgotten.get(partition, ()):
                yield Message(changelog, partition, key, None, [])

    async def _give_up_partitions(self, *_args: Any, **_kwargs: Any) -> None:
        """A rebalance begins: finish the batch in hand while the partitions are still ours, as far as time allows."""
        try:
            async with asyncio.timeout(self._settings.session_timeout_s / 2):
                async with self._in_batch:
                    await self._app.consumer.commit()
        except TimeoutError:
            log.warning("the batch in hand was not finished before its partitions were given up; it will be repeated")

    def _fail(self, error: Exception) -> None:
        if self.failed.done():
            return
        if not isinstance(error, WorkerError):
            log.error("the worker met an error that no input should cause: %s", type(error).__name__)
            crashed = WorkerCrashedError(
                f"the worker stopped on a {type(error).__name__}; nothing of the batch in hand was acknowledged, so "
                "restart it, and report it if it happens again"
            )
            crashed.__cause__ = error
            error = crashed
        self.failed.set_exception(error)


def _raw(message: Any) -> RawRecord:
    return RawRecord(
        message.partition,
        message.offset,
        round(message.timestamp * 1000) * 1000,
        message.key,
        message.value,
        message.headers or [],
    )
