"""One run's way out: numbers records, hands them to the publisher, and accounts for those that were not kept.

A record gets its sequence number only if it is kept, so the numbers have no gaps. What was not kept is reported by an
EventsDropped record, before the next record that is. A publisher that keeps messages in memory only takes records
before they are encoded (see ``late_record``); their numbers are given out here all the same.
"""

import os
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from tachograph.producers.clock import Clock
from tachograph.producers.guard import Guard
from tachograph.producers.ids import Ids, id_maker
from tachograph.producers.late_record import LateRecord
from tachograph.producers.losses import Losses
from tachograph.producers.publishing import Dropped, Message, Publisher, publish_late_of
from tachograph.producers.run_messages import RunMessages
from tachograph.schemas.enums import DropReason

if TYPE_CHECKING:  # brings fastavro and pydantic, which importing the tracer must not
    from tachograph.producers.encoding import RecordEncoder

_RUN_ENDED_BYTES = 1024

LateFields = tuple[tuple[Any, ...], int, str | None]
"""What the maker of a late record is called with, about how many bytes it holds, and its span."""


class _Process:
    """Counts forks. A run belongs to the process that started it: a child that went on numbering would fork its log."""

    generation = 0

    @classmethod
    def forked(cls) -> None:
        cls.generation += 1


os.register_at_fork(after_in_child=_Process.forked)


class RunChannel:
    """Emits the records of one run, in order, from any thread."""

    def __init__(
        self,
        *,
        tenant_id: str,
        agent_id: str,
        trace_id: str,
        run_id: str,
        root_span: str,
        publisher: Publisher,
        encoder: "RecordEncoder",
        clock: Clock,
        ids: Ids,
        guard: Guard,
    ) -> None:
        self.trace_id = trace_id
        self.messages = RunMessages(
            tenant_id=tenant_id,
            agent_id=agent_id,
            trace_id=trace_id,
            run_id=run_id,
            root_span=root_span,
            encoder=encoder,
        )
        self._publisher = publisher
        self._publish_late = publish_late_of(publisher)
        self.takes_late = self._publish_late is not None
        """Whether records may be emitted before they are encoded."""
        self._encoder = encoder
        self._now = clock.now_micros
        self._new_id = ids.uuid
        self.id_at = id_maker(ids)
        self._guard = guard
        self._generation = _Process.generation
        self._lock = threading.RLock()  # re-entered by signal handlers and finalisers; see `_busy`
        self._busy = False
        self._seq = 0
        self._dropped = 0
        self._dropped_late = 0  # changed by the sender's thread alone
        self._losses: dict[DropReason, Losses] = {}
        self.ended = False

    @property
    def kept(self) -> int:
        """Records kept so far."""
        return self._seq

    @property
    def dropped(self) -> int:
        """Records not kept so far."""
        return self._dropped + self._dropped_late

    @property
    def is_foreign(self) -> bool:
        """Whether this is a copy of a run of the parent process, made by fork."""
        return self._generation != _Process.generation

    def emit(
        self, name: str, tail: bytes, *, at: int | None = None, span_id: str | None = None, event_id: str | None = None
    ) -> str | None:
        """Publish one record. Returns its event id, or None if it was not kept."""
        at = self._now() if at is None else at
        event_id = event_id or self._new_id()

        def publish() -> None:
            self._publisher.publish(self.messages.message(name, tail, event_id, self._seq, at, span_id))

        return event_id if self._next(name, at, publish) else None

    def emit_late(self, name: str, tail_of: Callable[..., bytes], *records: LateFields) -> None:
        """Publish records of one type whose bytes ``tail_of`` makes later, one after the other.

        Only where ``takes_late``. What is given must not change meanwhile.
        """
        late = self._publish_late
        assert late is not None
        at = self._now()
        with self._lock:
            for arguments, size, span_id in records:
                if self.ended or self._busy or self._losses or self._generation != _Process.generation:
                    self._emit_with_care(name, tail_of, arguments, size, span_id, at)
                    continue
                # As `_next`, written out: this is most of what a tool call costs its caller.
                self._busy = True
                try:
                    late(LateRecord(self, name, tail_of, arguments, size, self._seq, at, span_id))
                    self._seq += 1
                except Exception as error:  # noqa: BLE001 - told apart there
                    self._not_kept(name, at, error, lose=True)
                finally:
                    self._busy = False

    def _emit_with_care(  # noqa: PLR0917 - the parts of one thing
        self,
        name: str,
        tail_of: Callable[..., bytes],
        arguments: tuple[Any, ...],
        size: int,
        span_id: str | None,
        at: int,
    ) -> None:
        late = self._publish_late
        assert late is not None
        self._next(name, at, lambda: late(LateRecord(self, name, tail_of, arguments, size, self._seq, at, span_id)))

    def emit_body(self, name: str, body: dict[str, Any], **where: Any) -> str | None:
        """Encode and publish one record."""
        try:
            tail = self._encoder.tail(name, body)
        except Exception as error:  # noqa: BLE001 - the guard decides
            self.lose(name)
            self._guard.swallow("encode", error)
            return None
        return self.emit(name, tail, **where)

    def lose(self, name: str, reason: DropReason = DropReason.ENCODE_FAILED) -> None:
        """Count a record that could not be made."""
        if not self.is_foreign:
            with self._lock:
                self._lose(name, reason, self._now())

    def lost_late(self) -> None:
        """Count a record that could not be made by the sender's thread, which has put EventsDropped in its place."""
        self._dropped_late += 1

    def note(self, place: str, kind: str) -> None:
        """Count something that went wrong where nobody can be told."""
        self._guard.note(place, kind)

    def end(self, body_of: Callable[[int, int], dict[str, Any]]) -> bool:
        """Publish RunEnded, whose body needs the counts (emitted, dropped). True if it is kept; if not, try again."""
        if self.is_foreign:
            return True
        with self._lock:
            if self.ended or self._busy:
                return self.ended
            self._busy = True
            try:
                if self._losses:
                    self._report_losses()
                at = self._now()
                self.ended = self._attempt("RunEnded", at, self._ending(body_of, at), lose=False)
            finally:
                self._busy = False
            return self.ended

    def send(self, message: Message) -> bool:
        """Publish a message that is not a record of the run's sequence. True if it is kept."""
        if self.is_foreign:
            return False
        try:
            self._publisher.publish(message)
        except Dropped:
            return False
        except Exception as error:  # noqa: BLE001 - the guard decides
            self._guard.note("publish", type(error).__name__)
            return False
        return True

    def _ending(self, body_of: Callable[[int, int], dict[str, Any]], at: int) -> Callable[[], None]:
        # Only with the lock held.
        seq, late = self._seq, self._publish_late

        def tail() -> bytes:
            return self._encoder.tail("RunEnded", body_of(seq + 1, self.dropped))

        if late is not None:  # made after all records before it, so it counts those of them that could not be made
            return partial(late, LateRecord(self, "RunEnded", tail, (), _RUN_ENDED_BYTES, seq, at, None))
        return partial(
            self._publisher.publish, self.messages.message("RunEnded", tail(), self._new_id(), seq, at, None)
        )

    def _next(self, name: str, at: int, publish: Callable[[], None]) -> bool:
        """Publish the record with the next number, and losses before it. True if it is kept."""
        if self.is_foreign:
            self._guard.note("emit", "RunOfParentProcess")
            return False
        with self._lock:
            if self.ended:
                self._guard.note("emit", "RunEnded")
                return False
            if self._busy:  # the publisher's own code was interrupted by code that records: the number is taken
                self._lose(name, DropReason.SPOOL_IO, at)
                return False
            self._busy = True
            try:
                if self._losses:
                    self._report_losses()
                return self._attempt(name, at, publish)
            finally:
                self._busy = False

    def _attempt(self, name: str, at: int, publish: Callable[[], None], *, lose: bool = True) -> bool:
        # Only with the lock held.
        try:
            publish()
        except Exception as error:  # noqa: BLE001 - told apart there
            self._not_kept(name, at, error, lose=lose)
            return False
        self._seq += 1
        return True

    def _not_kept(self, name: str, at: int, error: Exception, *, lose: bool) -> None:
        """Account for it. Raises what is meant for the agent, and what the guard lets through."""
        if not isinstance(error, Dropped):
            if lose:
                self._lose(name, DropReason.SPOOL_IO, at)
            self._guard.swallow("publish", error)
            return
        if lose:
            self._lose(name, error.reason, at)
        if error.for_agent:
            raise error

    def _lose(self, name: str, reason: DropReason, at: int) -> None:
        self._dropped += 1
        losses = self._losses.get(reason)
        if losses is None:
            losses = self._losses[reason] = Losses(at)
        losses.add(name)

    def _report_losses(self) -> None:
        for reason, losses in list(self._losses.items()):
            tail = self._encoder.tail("EventsDropped", losses.body(reason))
            at, event_id = self._now(), self._new_id()
            message = self.messages.message("EventsDropped", tail, event_id, self._seq, at, None)
            if not self._attempt("EventsDropped", at, partial(self._publisher.publish, message), lose=False):
                return
            del self._losses[reason]
