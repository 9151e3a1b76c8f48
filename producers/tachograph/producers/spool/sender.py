"""Brings lanes to Kafka, a step at a time. The thread around it is ``loop.py``.

After any loss of the producer the fate of what was under way is unknown. Then every lane concerned waits until the
broker must have taken what was on the wire, asks Kafka which of its messages are there, and sends the others again.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tachograph.producers.spool.complaints import Complaints
from tachograph.producers.spool.files import Files
from tachograph.producers.spool.lane import Entry, Lane
from tachograph.producers.spool.options import SpoolOptions
from tachograph.producers.spool.rejected import park
from tachograph.producers.spool.transport import (
    Connect,
    Fate,
    Report,
    TopicUnavailable,
    Transport,
    TransportUnavailable,
)

_SLICE: Final = 8
"""Messages per turn; the agent's threads get the interpreter back in between. p99 of ``publish`` in a loop that does
nothing else, on two busy cores: 692 µs with 32, 252 µs with 8."""
_SAVE_INTERVAL_S: Final = 0.05
_RETRY_S: Final = 1.0
_TOPIC_RETRY_S: Final = 5.0
_RETRY_MAX_S: Final = 30.0


class Sender:
    """All lanes of this process over one producer. Used by one thread."""

    def __init__(
        self,
        options: SpoolOptions,
        connect: Connect,
        files: Files,
        *,
        root: Path | None,
        on_done: Callable[[Lane, int, int], None],
        clock: Callable[[], float] = time.monotonic,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._options = options
        self._connect = connect
        self._files = files
        self._root = root
        """Where refused messages are parked; None at level ``memory``."""
        self._on_done = on_done
        self._clock = clock
        self._stop = stop
        self._complaints = Complaints(clock)
        self._durable = options.durability == "disk"
        self._transport: Transport | None = None
        self._retry_at = 0.0
        self._failures = 0
        self._suspects: set[Entry] = set()
        """Messages of refused batches. Until each was tried alone, one message is under way at a time."""
        self._saved_at = 0.0
        self.lanes: tuple[Lane, ...] = ()
        self.in_flight = 0
        self.sent = 0
        self.acknowledged = 0
        self.rejected = 0

    def step(self, wait: float) -> bool:
        """Send some, hear some. True if there may be more to do at once.

        Otherwise, if anything is under way, up to ``wait`` seconds have passed.
        """
        now = self._clock()
        busy = False
        try:
            if now >= self._retry_at:
                transport = self._transport = self._transport or self._connect()
                self._ask(transport, now)
                for lane in self.lanes:
                    busy = self._pump(transport, lane, now) or busy
        except TransportUnavailable as error:
            self._retry_at = now + self._backoff()
            self._complaints.say("the spool waits for the broker: %s", error)
        if self._transport is None:
            return False
        reports = self._transport.poll(wait if self.in_flight and not busy else 0.0)
        self._hear(reports)
        self._advance(self._clock())
        return busy or bool(reports)

    def save_all(self) -> None:
        """Write down every position that moved."""
        for lane in self.lanes:
            if lane.moved:
                self._save(lane)

    def close(self) -> None:
        """Let go of the producer; what is under way becomes uncertain."""
        if self._transport is not None:
            self._transport.close()
            self._transport = None
        self.in_flight = 0

    def start_over(self) -> None:
        """After an error that nobody foresaw: as if the producer had been lost."""
        self.close()
        self._recover(set(), "an unexpected error")

    def forget_transport(self) -> Transport | None:
        """The producer, given up without a word to it: in a forked child it must not be touched."""
        transport, self._transport = self._transport, None
        return transport

    def _ask(self, transport: Transport, now: float) -> None:
        """Learn what of the uncertain lanes is in Kafka, reading each topic once for all of them."""
        uncertain = [lane for lane in self.lanes if lane.uncertain and now >= lane.not_before]
        for topic in {lane.topic for lane in uncertain}:
            lanes = [lane for lane in uncertain if lane.topic == topic]
            try:
                found = transport.find(topic, {lane.spool: lane.floors for lane in lanes}, self._stop)
            except TopicUnavailable as error:
                self._hold(lanes, now, error)
                continue
            for lane in lanes:
                lane.checked(found[lane.spool])

    def _hold(self, lanes: list[Lane], now: float, error: TopicUnavailable) -> None:
        self._complaints.say("the spool waits for a topic: %s", error)
        for lane in lanes:
            lane.not_before = now + _TOPIC_RETRY_S

    def _pump(self, transport: Transport, lane: Lane, now: float) -> bool:
        if now < lane.not_before or lane.uncertain or not lane.ready:
            return False
        room = 1 - self.in_flight if self._suspects else min(_SLICE, self._options.window - len(lane.window))
        if room <= 0:
            return False
        try:
            if not lane.based:
                lane.base(transport.ends(lane.topic), sync=self._durable)
            entries = lane.next(room)
            lane.troubled = False
        except TopicUnavailable as error:
            self._hold([lane], now, error)
            return False
        except OSError as error:
            lane.troubled = True
            lane.not_before = now + _RETRY_S
            self._complaints.say("a segment cannot be read or its cursor not written: %s", error.strerror)
            return False
        for entry in entries:
            if not transport.send(entry.message, lane.spool, entry.place, entry):
                lane.put_back(entry)
                return False
            self.in_flight += 1
            self.sent += 1
        return bool(entries)

    def _hear(self, reports: list[Report]) -> None:
        refused: set[Entry] = set()
        trouble = ""
        for report in reports:
            self.in_flight -= 1
            entry = report.token
            assert isinstance(entry, Entry)
            if report.fate is Fate.DELIVERED:
                entry.finish(report.partition, report.offset)
                self.acknowledged += 1
                self._suspects.discard(entry)
                self._failures = 0
                continue
            trouble = report.reason or report.fate.value
            if report.fate is Fate.REFUSED:
                refused.add(entry)
        if trouble:
            self.close()
            self._recover(refused, trouble)

    def _recover(self, refused: set[Entry], trouble: str) -> None:
        now = self._clock()
        if not refused:
            self._complaints.say("the spool makes its producer anew: %s", trouble)
            self._retry_at = now + self._backoff()
        elif self._suspects:
            # It was alone under way, so it is the message and not its batch.
            for entry in refused:
                self._reject(entry, trouble)
        else:
            self._suspects = set(refused)
        for lane in self.lanes:
            lane.rewind(refused)
            if lane.uncertain:
                lane.not_before = now + self._options.settle

    def _reject(self, entry: Entry, trouble: str) -> None:
        self.rejected += 1
        self._suspects.discard(entry)
        entry.finish()
        self._complaints.say("the broker refuses a message for good (%s); it is kept under rejected/", trouble)
        if self._root is None:
            return
        try:
            park(self._files, self._root, entry, time.time_ns() // 1_000_000)
        except OSError as error:
            self._complaints.say("a refused message could not be kept: %s", error.strerror)

    def _advance(self, now: float) -> None:
        save_due = now - self._saved_at >= _SAVE_INTERVAL_S
        for lane in self.lanes:
            count, size = lane.advance()
            if count:
                self._on_done(lane, count, size)
            sweepable = lane.sweepable
            if lane.moved and (save_due or sweepable):
                self._saved_at = now
                self._save(lane, sync=self._durable and sweepable)
            if sweepable:
                try:
                    lane.sweep()
                except OSError as error:
                    self._complaints.say("a segment that was sent cannot be deleted: %s", error.strerror)

    def _save(self, lane: Lane, *, sync: bool = False) -> None:
        try:
            lane.save(sync=sync)
        except OSError as error:
            # The old position holds: after a crash more is read back, nothing is lost or repeated.
            self._complaints.say("the spool's cursor cannot be written: %s", error.strerror)

    def _backoff(self) -> float:
        self._failures += 1
        return float(min(_RETRY_S * 2 ** (self._failures - 1), _RETRY_MAX_S))
