"""One partition on its way into its table: what was read of it and has not landed. Pure; the clock is the caller's."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from tachograph.schemas.settings import SinkSettings
from tachograph.schemas.topics import Topic
from tachograph.sinks.clickhouse.notes import Note
from tachograph.sinks.clickhouse.repeats import Marks


class Measured(Protocol):
    """What a lane needs to know of a message."""

    def offset(self) -> int | None:
        """Its place in the partition."""

    def __len__(self) -> int:
        """Bytes of its value."""


M = TypeVar("M", bound=Measured)


@dataclass(frozen=True, slots=True)
class Range(Generic[M]):
    """Offsets ``[start, end)`` and the messages that exist there: offsets may be missing."""

    start: int
    end: int
    messages: Sequence[M]
    planned: bool
    """Whether the plan is committed already: a range that an earlier sink may have landed."""


@dataclass(slots=True)
class Lane(Generic[M]):
    """State of one assigned partition. ``start`` and ``marks`` are what was last committed."""

    topic: Topic
    partition: int
    start: int | None
    """Next offset to land; None before the first message of a partition nobody has read."""
    marks: Marks = field(default_factory=dict)
    replay_end: int | None = None
    """End of a range that was planned and not finished."""
    refused_in_a_row: int = 0
    waiting: list[M] = field(default_factory=list)
    waiting_bytes: int = 0
    waiting_since: float = 0.0
    read_to: int = 0
    """Everything before this offset has been read, or does not exist."""
    under_way: bool = False
    """Whether a range was taken and has not landed: the next one waits for it."""

    @classmethod
    def resumed(cls, topic: Topic, partition: int, committed: int | None, metadata: str | None) -> "Lane[M]":
        """State as the committed offset tells it; None if nothing was committed yet."""
        note = Note.from_text(metadata) if committed is not None else Note()
        # A planned end at or before the offset is no plan: the offset was moved by hand.
        end = note.end if note.end is not None and committed is not None and note.end > committed else None
        return cls(topic, partition, committed, note.marks, end)

    def read(self, messages: Sequence[M], now: float) -> None:
        """Take in the next messages of the partition, in their order; at least one."""
        begins = not self.waiting
        self.waiting += messages
        if begins:
            self.waiting_since = now
            self._follow_the_log()
        self.waiting_bytes += sum(map(len, messages))
        self.read_to = (messages[-1].offset() or 0) + 1

    def reached(self, offset: int) -> None:
        """The end of the partition is at ``offset`` for now."""
        self.read_to = max(self.read_to, offset)

    def is_full(self, limits: SinkSettings) -> bool:
        """Whether there is a whole insert's worth, or the whole of a range to repeat."""
        if self.under_way:
            return False
        if self.replay_end is not None:
            return self.read_to >= self.replay_end
        return len(self.waiting) >= limits.batch_rows or self.waiting_bytes >= limits.batch_bytes

    def is_due(self, limits: SinkSettings, now: float) -> bool:
        """Whether the oldest message has waited long enough. A range to repeat is never cut short by time."""
        if self.under_way:
            return False
        if self.replay_end is not None:
            return self.read_to >= self.replay_end
        return bool(self.waiting) and now - self.waiting_since >= limits.batch_within_s

    def take(self, limits: SinkSettings, now: float) -> Range[M] | None:
        """Cut the next range off what waits. None if there is nothing, or not yet all of a range to repeat."""
        if self.under_way:
            return None
        if self.replay_end is not None:
            if self.read_to < self.replay_end:
                return None
            count, end = self._count_before(self.replay_end), self.replay_end
        elif self.waiting:
            count = self._count_within(limits)
            end = (self.waiting[count - 1].offset() or 0) + 1
        else:
            return None
        assert self.start is not None
        taken, self.waiting = self.waiting[:count], self.waiting[count:]
        self.waiting_bytes = sum(map(len, self.waiting))
        self.waiting_since = now
        self.under_way = True
        return Range(self.start, end, taken, planned=self.replay_end is not None)

    def landed(self, end: int, marks: Marks) -> None:
        """Everything before ``end`` is in ClickHouse, and that is committed."""
        self.start, self.marks, self.replay_end, self.under_way = end, marks, None, False
        self._follow_the_log()

    def _follow_the_log(self) -> None:
        """Begin with what waits, if nothing was read before, or if the log was lost and began again."""
        if self.waiting and not self.under_way:
            first = self.waiting[0].offset() or 0
            if self.start is None or first < self.start:
                self.start, self.replay_end = first, None

    def _count_before(self, end: int) -> int:
        return sum(1 for message in self.waiting if (message.offset() or 0) < end)

    def _count_within(self, limits: SinkSettings) -> int:
        count = min(len(self.waiting), limits.batch_rows)
        if self.waiting_bytes <= limits.batch_bytes:
            return count
        size = 0
        for index in range(count):
            size += len(self.waiting[index])
            if size > limits.batch_bytes:
                return max(1, index)
        return count
