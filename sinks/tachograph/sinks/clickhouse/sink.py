"""The cycle: plan, insert, commit.

For every partition that is full or due:

1. one commit: where we are, with the end of what is about to be inserted in the note beside it;
2. the inserts, side by side, each under a token that names its range;
3. dead letters of what was refused;
4. one commit: the ends, with the new high-water marks.

A crash anywhere leaves a committed plan or a committed end. Whoever owns the partition next reads the plan, waits until
it has read the same range again, and inserts it under the same token: ClickHouse drops what it has.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import Message

from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import Topic
from tachograph.schemas.wire import Codec
from tachograph.schemas.wire.registry import SchemaRegistry
from tachograph.sinks.clickhouse import metrics
from tachograph.sinks.clickhouse.block import Block, build, own_value
from tachograph.sinks.clickhouse.dead_letters import DEAD_LETTER_TABLE, DeadLetterRows
from tachograph.sinks.clickhouse.insert import Inserts, land, range_token
from tachograph.sinks.clickhouse.notes import Note
from tachograph.sinks.clickhouse.outbox import Outbox
from tachograph.sinks.clickhouse.reader import POLL_S, KafkaLane, KafkaRange, Reader, StoppedError
from tachograph.sinks.clickhouse.schemas import RowSchemas
from tachograph.sinks.errors import DeadLetterLimitError, TransientError

_log = logging.getLogger(__name__)

INSERTS_AT_ONCE: Final = 4
"""Inserts side by side. ClickHouse takes 12 to 16 µs a row, we 2: more would only queue there."""
PATIENCE_S: Final = 2.0
"""How long inserts may take before the partitions are paused and the group is told that we live. Pausing throws away
what was fetched ahead, so it is not done for every insert."""
BACKOFF_S: Final = (0.2, 10.0)
"""First and longest wait before an insert is tried again; each doubles the one before."""

Moment = Callable[[str], None]
"""Called at ``planned``, ``inserted``, ``dead_lettered`` and ``finished``: where a test pulls the plug."""

GivenUp = tuple[Message, str, Exception]
"""A message, the stage at which it was given up, and why."""


@dataclass(slots=True)
class _Job:
    lane: KafkaLane
    range: KafkaRange
    block: Block
    given_up: list[GivenUp] = field(default_factory=list)


class Sink:
    """Lands the rows of topics in their tables, each exactly once."""

    def __init__(
        self,
        settings: Settings,
        topics: Sequence[Topic],
        inserts: Inserts,
        outbox: Outbox,
        *,
        stop: threading.Event,
        registry: SchemaRegistry | None = None,
        moment: Moment = lambda _name: None,
    ) -> None:
        self._settings = settings
        self._inserts = inserts
        self._outbox = outbox
        self._stop = stop
        self._moment = moment
        self._schemas = {topic.table: RowSchemas(topic.table, registry=registry) for topic in topics if topic.table}
        self._dead_letter_rows = DeadLetterRows(Codec(registry=registry))
        self.reader = Reader(settings, topics, stop)
        self._pool = ThreadPoolExecutor(INSERTS_AT_ONCE, thread_name_prefix="insert")

    def run(self) -> None:
        """Go on until told to stop. Raises StopError, or another SinkError if joining anew may help."""
        self.reader.join()
        try:
            while not self._stop.is_set():
                if ready := self.reader.read():
                    self._cycle([self._job(lane, found) for lane, found in ready])
        except StoppedError:
            pass
        finally:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self.reader.leave()

    def _job(self, lane: KafkaLane, found: KafkaRange) -> _Job:
        table = lane.topic.table
        assert table is not None
        value_of: Any = self._dead_letter_rows.encoded if table == DEAD_LETTER_TABLE else own_value
        return _Job(lane, found, build(found.messages, lane.partition, self._schemas[table], lane.marks, value_of))

    def _cycle(self, jobs: Sequence[_Job]) -> None:
        self._plan([job for job in jobs if not job.range.planned])
        self._moment("planned")
        self._land(jobs)
        self._moment("inserted")
        jobs = [job for job in jobs if self.reader.owns(job.lane)]
        self._dead_letter(jobs)
        self.reader.commit(lambda: [(job.lane, job.range.end, Note(None, job.block.marks)) for job in jobs])
        for job in jobs:
            self._finish(job)
        self.reader.resume()
        self._moment("finished")

    def _plan(self, jobs: Sequence[_Job]) -> None:
        self.reader.commit(
            lambda: [(job.lane, job.range.start, Note(job.range.end, job.lane.marks)) for job in jobs],
        )

    def _land(self, jobs: Sequence[_Job]) -> None:
        """Insert every job's rows, waiting as long as ClickHouse is away. Leaves out partitions that are lost."""
        planned_at, backoff = time.monotonic(), BACKOFF_S[0]
        left = list(jobs)
        while left := [job for job in left if self.reader.owns(job.lane)]:
            if time.monotonic() - planned_at > self._settings.sink.session_timeout_s:
                # A plan this old may be somebody else's by now. Only its owner can commit it again.
                self._plan(left)
                planned_at = time.monotonic()
                continue
            landings = [(job, self._pool.submit(self._insert, job)) for job in left]
            self._await([future for _, future in landings])
            left, trouble = _unlanded(landings)
            self.reader.trouble = None if trouble is None else "ClickHouse does not take rows; they wait in Kafka"
            if trouble is not None:
                _log.warning("%s Trying again in %.1f s.", trouble, backoff)
                self.reader.wait(backoff)
                backoff = min(backoff * 2, BACKOFF_S[1])

    def _insert(self, job: _Job) -> list[GivenUp]:
        """In a thread of the pool: land one range and return what was given up, in order."""
        topic, found = job.lane.topic, job.range
        assert topic.table is not None
        token = range_token(topic.name, job.lane.partition, found.start, found.end)
        limit = max(1, self._settings.dlq.max_consecutive - job.lane.refused_in_a_row)
        given_up: list[Any] = [(message, "DECODE", error) for message, error in job.block.unreadable]
        for rows in job.block.rows:
            refused = land(self._inserts, topic.table, rows, token, limit=limit)
            given_up += [(rows.messages[row], "INSERT", error) for row, error in refused]
        return sorted(given_up, key=lambda item: item[0].offset())

    def _await(self, futures: Sequence["Future[list[GivenUp]]"]) -> None:
        running = wait_for(futures, PATIENCE_S).not_done
        while running:
            self.reader.pause()
            self.reader.serve(POLL_S)
            running = wait_for(running, 0).not_done

    def _dead_letter(self, jobs: Sequence[_Job]) -> None:
        given_up = [item for job in jobs for item in job.given_up]
        if given_up:
            for message, stage, error in given_up:
                self._outbox.put(message, stage, error)
            self._outbox.flush()
            self._moment("dead_lettered")

    def _finish(self, job: _Job) -> None:
        lane, refused = job.lane, len(job.given_up)
        rows = sum(len(rows) for rows in job.block.rows) + len(job.block.unreadable)
        lane.landed(job.range.end, job.block.marks)
        table = str(lane.topic.table)
        metrics.ROWS.labels(table).inc(rows - refused)
        metrics.BATCH_ROWS.labels(table).observe(rows)
        metrics.REPEATS.labels(table).inc(job.block.repeats)
        if not refused:
            lane.refused_in_a_row = 0
            return
        metrics.POISON.labels(table).inc(refused)
        place, first = f"{lane.topic.name}/{lane.partition}", job.given_up[0][2]
        _log.warning("%s: %s of %s rows are now dead letters, the first because: %s", place, refused, rows, first)
        lane.refused_in_a_row = lane.refused_in_a_row + refused if refused == rows else 0
        if lane.refused_in_a_row >= self._settings.dlq.max_consecutive:
            raise DeadLetterLimitError(
                f"{place}: {lane.refused_in_a_row} rows in a row became dead letters, the last because: "
                f"{job.given_up[-1][2]}. See the table dead_letters, mend the cause and start again; "
                "or raise dlq.max_consecutive."
            )


def _unlanded(landings: Sequence[tuple[_Job, "Future[list[GivenUp]]"]]) -> tuple[list[_Job], TransientError | None]:
    left, trouble = [], None
    for job, future in landings:
        try:
            job.given_up = future.result()
        except TransientError as error:
            left.append(job)
            trouble = error
    return left, trouble
