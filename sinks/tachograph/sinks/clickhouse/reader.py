"""The sink's place in the consumer group: its partitions, what was read of them, and their offsets.

Partitions are assigned cooperatively (``cooperative-sticky``): a sink that joins or leaves takes its share, and the
others go on with what they hold, in the middle of an insert too. With the eager protocol every change would throw away
everything that was read and not landed, on every sink.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import Topic
from tachograph.sinks.clickhouse.lane import Lane, Range
from tachograph.sinks.clickhouse.notes import Note
from tachograph.sinks.clickhouse.offsets import commit, committed, meaning
from tachograph.sinks.errors import BrokerTroubleError, OwnershipLostError

_log = logging.getLogger(__name__)

CONSUME_AT_ONCE: Final = 10_000
"""Messages per call: past this the call's own cost is under a percent."""
FETCH_BYTES: Final = 128 * 1024
"""Compressed bytes of a partition in one answer of the broker. With librdkafka's megabyte a backlog came partition by
partition, a hundred thousand rows of each: one insert at a time instead of several side by side."""
POLL_S: Final = 0.1
"""Longest wait for messages: the delay with which a stop is noticed."""
LOOK_EVERY_S: Final = 1.0
"""Time between two looks at the lag. Only this thread can look: the consumer makes any other wait for its reads."""
BUFFERED_BATCHES: Final = 4
"""Full batches that may wait in memory over all partitions, by bytes or by rows, before reading stops."""

KafkaLane = Lane[Message]
KafkaRange = Range[Message]


def _place(message: Message) -> tuple[str | None, int | None, bool]:
    """Where a message belongs, and whether it is no message but an event."""
    return message.topic(), message.partition(), message.error() is not None


Planned = tuple[KafkaLane, int, Note]
"""What to commit for a partition: the offset, and the note beside it."""


class StoppedError(Exception):
    """We were told to stop while waiting. The plan stays, and is repeated by whoever comes next."""


class Reader:
    """A member of the group. Use it from one thread; every wait keeps the membership alive."""

    def __init__(self, settings: Settings, topics: Sequence[Topic], stop: threading.Event) -> None:
        self._settings = settings
        self._limits = settings.sink
        self._topics = {topic.name: topic for topic in topics}
        self._stop = stop
        self._lanes: dict[tuple[str | None, int | None], KafkaLane] = {}
        self._paused = False
        self.joined = False
        """Whether the group has given us our share, which may be nothing."""
        self.heard_at = time.monotonic()
        """When we last asked Kafka for something."""
        self.lag: Mapping[tuple[str, int], int] = {}
        """Messages that have not landed, by topic and partition, where the end is known. Replaced, never changed."""
        self._look_again_at = 0.0
        self.trouble: str | None = None
        """Why nothing lands at the moment, for whoever asks."""
        self._consumer = Consumer(_configuration(settings), logger=_log)

    def join(self) -> None:
        """Ask for partitions. They come while reading."""
        self._consumer.subscribe(
            list(self._topics), on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked
        )

    def leave(self) -> None:
        """Leave the group. A static member keeps its partitions until its session ends, and so finds them again."""
        self._consumer.close()

    def read(self, at_most_s: float = POLL_S) -> None:
        """Read for a moment, which ends early when something is due."""
        self._look()
        try:
            self._receive(self._consumer.consume(CONSUME_AT_ONCE, min(at_most_s, self._patience())))
        except KafkaException as error:
            raise meaning(error.args[0]) from None

    @property
    def is_ahead(self) -> bool:
        """Whether so much waits that nothing more should be read until something lands."""
        lanes, limits = self._lanes.values(), self._limits
        return (
            sum(lane.waiting_bytes for lane in lanes) >= BUFFERED_BATCHES * limits.batch_bytes
            or sum(len(lane.waiting) for lane in lanes) >= BUFFERED_BATCHES * limits.batch_rows
        )

    def ready(self) -> list[tuple[KafkaLane, KafkaRange]]:
        """The ranges that are full or due by now, of partitions of which no range is under way."""
        now, limits = time.monotonic(), self._limits
        lanes = [lane for lane in self._lanes.values() if not lane.under_way]
        waiting = sum(lane.waiting_bytes for lane in lanes)
        if any(lane.is_due(limits, now) for lane in lanes) or waiting >= BUFFERED_BATCHES * limits.batch_bytes:
            chosen = lanes  # one pair of commits for all, instead of a pair whenever the next one is due
        else:
            chosen = [lane for lane in lanes if lane.is_full(limits)]
        taken = ((lane, lane.take(limits, now)) for lane in chosen)
        return [(lane, found) for lane, found in taken if found is not None]

    @property
    def assigned(self) -> frozenset[tuple[str, int]]:
        """Topic and partition of everything that is ours, as far as we were told."""
        return frozenset((lane.topic.name, lane.partition) for lane in self._lanes.values())

    def _look(self) -> None:
        """Note that we live and, now and then, how far behind we are."""
        self.heard_at = now = time.monotonic()
        if now < self._look_again_at:
            return
        self._look_again_at = now + LOOK_EVERY_S
        found = {}
        for lane in self._lanes.values():
            place = TopicPartition(lane.topic.name, lane.partition)
            low, high = self._consumer.get_watermark_offsets(place, cached=True)
            if high >= 0:
                found[lane.topic.name, lane.partition] = max(0, high - max(low, lane.start or 0))
        self.lag = found

    def owns(self, lane: KafkaLane) -> bool:
        """Whether the partition is still ours, as far as we were told."""
        return self._lanes.get((lane.topic.name, lane.partition)) is lane

    def commit(self, planned: Callable[[], Sequence[Planned]]) -> None:
        """Commit what ``planned`` says, for the partitions we still own, as long as it takes to know whether we do.

        A sink that was asleep while the group went on is refused by the broker: its generation is old.
        """
        self.serve(0)  # if the group took partitions away while we were busy, this is where we hear of it
        while offsets := [
            TopicPartition(lane.topic.name, lane.partition, offset, note.to_text())
            for lane, offset, note in planned()
            if self.owns(lane)
        ]:
            try:
                commit(self._consumer, offsets)
            except (OwnershipLostError, BrokerTroubleError) as error:
                _log.info("%s; asking the group", error)
                self.wait(POLL_S)
            else:
                return

    def wait(self, seconds: float) -> None:
        """Let time pass as a living member that reads nothing. Raises StoppedError when told to stop."""
        self.pause()
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._stop.is_set():
                raise StoppedError
            self.serve(min(left, POLL_S))

    def serve(self, timeout_s: float) -> None:
        """Hear what the group has to say."""
        self._look()
        message = self._consumer.poll(timeout_s)
        if message is not None:
            self._receive([message])

    def pause(self) -> None:
        """Read no more until :meth:`resume`."""
        if not self._paused:
            self._consumer.pause(self._consumer.assignment())
            self._paused = True

    def resume(self) -> None:
        """Read again, if it was paused."""
        if self._paused:
            self._consumer.resume(self._consumer.assignment())
            self._paused = False

    def _patience(self) -> float:
        now, within = time.monotonic(), self._limits.batch_within_s
        due = [
            lane.waiting_since + within - now
            for lane in self._lanes.values()
            if lane.waiting and lane.replay_end is None and not lane.under_way
        ]
        return max(0.001, min([POLL_S, *due]))

    def _receive(self, messages: Sequence[Message]) -> None:
        now = time.monotonic()
        # Messages come in runs of one partition; going through them run by run costs a quarter of one by one.
        for (topic, partition, is_event), run in groupby(messages, _place):
            lane = self._lanes.get((topic, partition))
            if is_event:
                for message in run:
                    _heard(message, lane)
            elif lane is not None:
                lane.read(list(run), now)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        starts = []
        for found in committed(consumer, partitions, self._settings.kafka.request_timeout_ms / 1000):
            start = found.offset if found.offset >= 0 else None
            lane: KafkaLane = Lane.resumed(self._topics[found.topic], found.partition, start, found.metadata)
            self._lanes[found.topic, found.partition] = lane
            if lane.replay_end is not None:
                _log.info("%s/%s: repeating %s-%s", found.topic, found.partition, lane.start, lane.replay_end)
            starts.append(
                TopicPartition(found.topic, found.partition, OFFSET_BEGINNING if start is None else found.offset)
            )
        consumer.incremental_assign(starts)
        self.joined = True
        # A partition that was paused when it was taken away comes back paused.
        consumer.resume(starts)

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # What is in hand is dropped. If it is being inserted, the plan is committed, and the next owner repeats it
        # under the same token; if not, nobody has seen it.
        for gone in partitions:
            self._lanes.pop((gone.topic, gone.partition), None)
        consumer.incremental_unassign(partitions)


def _heard(message: Message, lane: KafkaLane | None) -> None:
    error = message.error()
    assert error is not None
    if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's own code
        if lane is not None:
            lane.reached(message.offset() or 0)
    elif error.fatal() or error.code() in {KafkaError.FENCED_INSTANCE_ID, KafkaError._FATAL}:  # noqa: SLF001
        raise meaning(error)
    else:
        _log.warning("Kafka: %s; waiting for it to pass", error.name())


def _configuration(settings: Settings) -> dict[str, Any]:
    sink = settings.sink
    session_ms = int(sink.session_timeout_s * 1000)
    membership = {"group.instance.id": sink.instance_id} if sink.instance_id else {}
    return settings.kafka.client(
        **membership,
        **{
            "group.id": sink.group_id,
            "client.id": "tachograph-sink",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest",
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": session_ms,
            "heartbeat.interval.ms": max(session_ms // 4, 100),
            "max.poll.interval.ms": max(session_ms, 300_000),
            "enable.partition.eof": True,  # says that a range to repeat is complete although its end has expired
            "fetch.wait.max.ms": 100,
            "max.partition.fetch.bytes": FETCH_BYTES,
        },
    )
