"""One topic of one spool on its way to Kafka: what is sent, what is acknowledged, what is uncertain.

Decides, and does no I/O of its own but through its source and its cursor.
"""

import contextlib
from collections import deque
from collections.abc import Mapping
from typing import Final

from tachograph.producers.spool.cursor import START, CursorFile, Position
from tachograph.producers.spool.source import Item, Source
from tachograph.producers.spool.transport import Place

_BEYOND_ALL: Final = 1 << 32
"""Above any segment's number."""


class Entry:
    """A message that was read from the spool and is not done with."""

    __slots__ = ("done", "frame", "lane", "message", "offset", "partition", "segment", "size")

    def __init__(self, lane: "Lane", item: Item) -> None:
        self.lane = lane
        self.segment, self.frame, self.message, self.size = item
        self.done = False
        self.partition = -1
        self.offset = -1

    @property
    def place(self) -> Place:
        """Where in the spool it is."""
        return self.segment, self.frame

    def finish(self, partition: int = -1, offset: int = -1) -> None:
        """It is in Kafka at this place, or parked if there is none."""
        self.done = True
        self.partition = partition
        self.offset = offset


class Lane:
    """Hands out messages in order, and knows up to where all are done.

    ``window`` holds what was handed out, oldest first. The front of it that is done moves the position on; floors move
    with it, because in one partition what was sent later lies behind what was sent earlier.
    """

    def __init__(
        self,
        spool: bytes,
        topic: str,
        source: Source,
        cursor: CursorFile | None,
        *,
        adopted_from: Position | None = None,
    ) -> None:
        self.spool = spool
        self.topic = topic
        self.source = source
        self.cursor = cursor
        self.window: deque[Entry] = deque()
        self._again: deque[Entry] = deque()
        self._position = adopted_from or START
        self._floors: dict[int, int] = dict(self._position.floors)
        self._already: Mapping[Place, tuple[int, int]] = {}
        self.uncertain = adopted_from is not None
        """Something may be in Kafka without our knowing: ask before sending."""
        self.based = adopted_from is not None
        """Floors are known and written down: sending may begin."""
        self.not_before = 0.0
        """When to ask or to try again."""
        self.moved = False
        """The position is ahead of the cursor file."""
        self.troubled = False
        """Its files cannot be read or written now."""
        self.waits_for: tuple[Lane, ...] = ()
        """Lanes of dead processes whose messages go first: a key may go on in a new process."""
        self.passed = 0
        """Messages that are done with, in order."""
        self.found = 0
        """Messages that were in Kafka already."""

    @property
    def position(self) -> Position:
        """Everything before it is done with."""
        return Position(self._position.segment, self._position.frame, dict(self._floors))

    @property
    def floors(self) -> Mapping[int, int]:
        """By partition: nothing that is not done lies below."""
        return self._floors

    def base(self, ends: Mapping[int, int], *, sync: bool) -> None:
        """Nothing was ever sent: whatever will be lies at or behind these offsets. Raises OSError."""
        self._floors = dict(ends)
        self.save(sync=sync)
        self.based = True

    def checked(self, found: Mapping[Place, tuple[int, int]]) -> None:
        """These are in Kafka; all others of the uncertain ones are not."""
        self._already = found
        self.uncertain = False

    def next(self, limit: int) -> list[Entry]:
        """Up to ``limit`` messages to send, now in the window. Those that are in Kafka already are done at once."""
        unsent: list[Entry] = []
        while len(unsent) < limit:
            entries = self._take(limit - len(unsent))
            if not entries:
                break
            self.window.extend(entries)
            for entry in entries:
                there = self._already.get(entry.place) if self._already else None
                if there is not None and not entry.done:
                    entry.finish(*there)
                    self.found += 1
            unsent += [entry for entry in entries if not entry.done]
        return unsent

    def _take(self, limit: int) -> list[Entry]:
        if self._again:
            return [self._again.popleft() for _ in range(min(limit, len(self._again)))]
        return [Entry(self, item) for item in self.source.take(limit)]

    def put_back(self, first: Entry) -> None:
        """``first`` and what follows it in the window could not be sent now."""
        entry = None
        while entry is not first:
            entry = self.window.pop()
            self._again.appendleft(entry)

    def rewind(self, refused: set[Entry]) -> None:
        """The transport is gone: hand everything out again that is not done."""
        self.uncertain = self.uncertain or any(not entry.done and entry not in refused for entry in self.window)
        self._again.extendleft(reversed(self.window))
        self.window.clear()

    def advance(self) -> tuple[int, int]:
        """Move the position over what is done. Gives messages and bytes."""
        count = size = 0
        window = self.window
        while window and window[0].done:
            entry = window.popleft()
            count += 1
            size += entry.size
            if entry.offset >= 0:
                self._floors[entry.partition] = max(entry.offset + 1, self._floors.get(entry.partition, 0))
            self._position = Position(entry.segment, entry.frame + 1, START.floors)
        self.passed += count
        self.moved = self.moved or count > 0
        return count, size

    @property
    def finished(self) -> bool:
        """Everything is done with, and nothing will come (which only a dead process's lane can know)."""
        return self.source.exhausted and not self.window and not self._again

    @property
    def ready(self) -> bool:
        """No lane is ahead of it."""
        return all(other.finished or other.troubled for other in self.waits_for)

    @property
    def sweepable(self) -> bool:
        """There is a segment to delete."""
        return self.source.has_before(self._oldest_needed())

    def sweep(self) -> None:
        """Delete the segments that are done with. Raises OSError."""
        self.source.forget_before(self._oldest_needed())

    def _oldest_needed(self) -> int:
        pending = self.window[0] if self.window else self._again[0] if self._again else None
        return pending.segment if pending is not None else self.source.segment

    def save(self, *, sync: bool = False) -> None:
        """Write the position down. Raises OSError."""
        if self.cursor is not None:
            self.cursor.write(self.position, sync=sync)
        self.moved = False

    def remove(self) -> None:
        """Delete the last segment too: everything is done with and nothing will come."""
        self.close()
        with contextlib.suppress(OSError):  # then an adopter finds it, and its cursor at the end
            self.source.forget_before(_BEYOND_ALL)

    def close(self) -> None:
        """Let go of files."""
        self.source.close()
        if self.cursor is not None:
            self.cursor.close()
