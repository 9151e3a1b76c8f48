"""Plan, insert, commit: one range after the other within a partition, the partitions side by side.

For every partition that is full or due:

1. a commit: where it is, with the end of what is about to be inserted in the note beside it;
2. the insert, under a token that names the range, while the next rows are read;
3. dead letters of what was refused;
4. a commit: the end, with the new high-water marks. If the next range is there already, its plan is in the same commit.

A crash anywhere leaves a committed plan or a committed end. Whoever owns the partition next reads the plan, waits until
it has read the same range again, and inserts it under the same token: ClickHouse drops what it has.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
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
"""Inserts side by side. ClickHouse takes 9 to 16 µs a row, we 3: more would only queue there."""
LOOK_S: Final = 0.01
"""Longest wait for messages while inserts are on their way: the delay with which their end is noticed."""
PATIENCE_S: Final = 2.0
"""How long inserts may take, when enough is read for the next ones, before the partitions are paused and the group is
told that we live. Pausing throws away what was fetched ahead, so it is not done for every insert."""
BACKOFF_S: Final = (0.2, 10.0)
"""First and longest wait before an insert is tried again; each doubles the one before."""

Moment = Callable[[str], None]
"""Called at ``planned``, ``inserted``, ``dead_lettered`` and ``finished``: where a test pulls the plug."""

GivenUp = tuple[Message, str, Exception]
"""A message, the stage at which it was given up, and why."""


@dataclass(slots=True)
class _Job:
    """One range on its way. Its insert is begun after its plan is committed."""

    lane: KafkaLane
    range: KafkaRange
    block: Block
    planned_at: float = 0.0
    insert: "Future[list[GivenUp]]" = field(default_factory=Future)

    @property
    def trouble(self) -> TransientError | None:
        """Why it has to be tried again. Raises what cannot be mended by trying."""
        try:
            self.insert.result()
        except TransientError as error:
            return error
        return None


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
        self._under_way: list[_Job] = []

    def run(self) -> None:
        """Go on until told to stop. Raises StopError, or another SinkError if joining anew may help."""
        self.reader.join()
        try:
            while not self._stop.is_set():
                self._read()
                self._commit(self._landed(), [self._job(lane, found) for lane, found in self.reader.ready()])
            while self._under_way:
                self._await_one()
                self._commit(self._landed(), [])
        except StoppedError:
            pass
        finally:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self.reader.leave()

    def _read(self) -> None:
        """Read for a moment; or, if enough for the next inserts is there, wait until one of those under way is over."""
        if self._under_way and self.reader.is_ahead:
            self._await_one()
        else:
            self.reader.resume()
            self.reader.read(LOOK_S if self._under_way else POLL_S)

    def _job(self, lane: KafkaLane, found: KafkaRange) -> _Job:
        table = lane.topic.table
        assert table is not None
        value_of: Any = self._dead_letter_rows.encoded if table == DEAD_LETTER_TABLE else own_value
        return _Job(lane, found, build(found.messages, lane.partition, self._schemas[table], lane.marks, value_of))

    def _landed(self) -> list[_Job]:
        """Jobs whose rows are in ClickHouse, and whose dead letters are on their topic."""
        over = [job for job in self._under_way if job.insert.done()]
        if any(job.trouble for job in over):
            over = self._insisted(self._under_way)
        if not over:
            return []
        self._moment("inserted")
        self._under_way = [job for job in self._under_way if not job.insert.done()]
        landed = [job for job in over if self.reader.owns(job.lane)]
        self._dead_letter(landed)
        for job in landed:
            job.lane.landed(job.range.end, job.block.marks)
        return landed

    def _commit(self, landed: Sequence[_Job], planned: Sequence[_Job]) -> None:
        """Commit ends and plans together, then begin the inserts."""
        if not landed and not planned:
            return
        plans = {id(job.lane): (job.lane, job.range.start, Note(job.range.end, job.lane.marks)) for job in planned}
        ends = {id(job.lane): (job.lane, job.range.end, Note(None, job.lane.marks)) for job in landed}
        # A plan that was found is there already; committing it once more changes nothing.
        self.reader.commit(lambda: list((ends | plans).values()))
        planned = [job for job in planned if self.reader.owns(job.lane)]
        for job in landed:
            self._count(job)
        if landed:
            self._moment("finished")
        if planned:
            self._moment("planned")
            for job in planned:
                job.planned_at = time.monotonic()
                self._begin(job)
            self._under_way += planned

    def _begin(self, job: _Job) -> None:
        job.insert = self._pool.submit(self._insert, job)

    def _insisted(self, jobs: Sequence[_Job]) -> list[_Job]:
        """The same jobs with their rows landed, waiting as long as ClickHouse is away and reading nothing meanwhile.

        Leaves out partitions that are lost.
        """
        backoff, left = BACKOFF_S[0], list(jobs)
        while True:
            self._await([job.insert for job in left])
            left = [job for job in left if job.trouble]
            if not left:
                break
            _log.warning("%s Trying again in %.1f s.", left[-1].trouble, backoff)
            self.reader.trouble = "ClickHouse does not take rows; they wait in Kafka"
            self.reader.wait(backoff)
            backoff = min(backoff * 2, BACKOFF_S[1])
            self._plan_again([job for job in left if self._is_old(job)])
            left = [job for job in left if self.reader.owns(job.lane)]
            for job in left:
                self._begin(job)
        self.reader.trouble = None
        return list(jobs)

    def _is_old(self, job: _Job) -> bool:
        """Whether the plan may be somebody else's by now. Only its owner can commit it again."""
        return time.monotonic() - job.planned_at > self._settings.sink.session_timeout_s

    def _plan_again(self, jobs: Sequence[_Job]) -> None:
        if jobs:
            self.reader.commit(
                lambda: [(job.lane, job.range.start, Note(job.range.end, job.lane.marks)) for job in jobs]
            )
            for job in jobs:
                job.planned_at = time.monotonic()

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

    def _await_one(self) -> None:
        self._await([job.insert for job in self._under_way], FIRST_COMPLETED)

    def _await(self, inserts: Sequence["Future[list[GivenUp]]"], until: str = "ALL_COMPLETED") -> None:
        done, running = wait_for(inserts, PATIENCE_S, until)
        while running and not (done and until == FIRST_COMPLETED):
            self.reader.pause()
            self.reader.serve(POLL_S)
            done, running = wait_for(inserts, 0, until)

    def _dead_letter(self, jobs: Sequence[_Job]) -> None:
        given_up = [item for job in jobs for item in job.insert.result()]
        if given_up:
            for message, stage, error in given_up:
                self._outbox.put(message, stage, error)
            self._outbox.flush()
            self._moment("dead_lettered")

    def _count(self, job: _Job) -> None:
        lane, given_up = job.lane, job.insert.result()
        refused = len(given_up)
        rows = sum(len(rows) for rows in job.block.rows) + len(job.block.unreadable)
        table = str(lane.topic.table)
        metrics.ROWS.labels(table).inc(rows - refused)
        metrics.BATCH_ROWS.labels(table).observe(rows)
        metrics.REPEATS.labels(table).inc(job.block.repeats)
        if not refused:
            lane.refused_in_a_row = 0
            return
        metrics.POISON.labels(table).inc(refused)
        place, first = f"{lane.topic.name}/{lane.partition}", given_up[0][2]
        _log.warning("%s: %s of %s rows are now dead letters, the first because: %s", place, refused, rows, first)
        lane.refused_in_a_row = lane.refused_in_a_row + refused if refused == rows else 0
        if lane.refused_in_a_row >= self._settings.dlq.max_consecutive:
            raise DeadLetterLimitError(
                f"{place}: {lane.refused_in_a_row} rows in a row became dead letters, the last because: "
                f"{given_up[-1][2]}. See the table dead_letters, mend the cause and start again; "
                "or raise dlq.max_consecutive."
            )
