"""One run's way out: numbers records, hands them to the publisher, and accounts for those that were not kept.

A record gets its sequence number only if it is kept, so the numbers have no gaps. What was not kept is reported by an
EventsDropped record, before the next record that is.
"""

import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from tachograph.producers.avro_bytes import envelope_writer
from tachograph.producers.clock import Clock
from tachograph.producers.guard import Guard
from tachograph.producers.ids import Ids
from tachograph.producers.publishing import Dropped, Message, Publisher
from tachograph.schemas.enums import DropReason
from tachograph.schemas.headers import CONTENT_TYPE_AVRO, Header
from tachograph.schemas.topics import EVENTS

if TYPE_CHECKING:  # brings fastavro and pydantic, which importing the tracer must not
    from tachograph.producers.encoding import RecordEncoder

_TOPIC: Final = EVENTS.name
_CONTENT_TYPE: Final = (Header.CONTENT_TYPE.value, CONTENT_TYPE_AVRO)
_SPEC: Final = (Header.CE_SPECVERSION.value, b"1.0")
_TRACEPARENT: Final = Header.TRACEPARENT.value
_CE_ID: Final = Header.CE_ID.value
_CE_SOURCE: Final = Header.CE_SOURCE.value
_CE_TYPE: Final = Header.CE_TYPE.value
_CE_TIME: Final = Header.CE_TIME.value
_MOST_TYPES: Final = 16  # names in one EventsDropped record: there are only twelve types


class _Process:
    """Counts forks. A run belongs to the process that started it: a child that went on numbering would fork its log."""

    generation = 0

    @classmethod
    def forked(cls) -> None:
        cls.generation += 1


os.register_at_fork(after_in_child=_Process.forked)


def rfc3339(micros: int) -> str:
    """Moment as RFC 3339 text, UTC."""
    seconds, fraction = divmod(micros, 1_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:06d}Z"


class _Losses:
    """Records of one reason that were not kept and are not reported yet."""

    __slots__ = ("count", "first_at", "types")

    def __init__(self, first_at: int) -> None:
        self.count = 0
        self.first_at = first_at
        self.types: dict[str, None] = {}


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
        self._publisher = publisher
        self._encoder = encoder
        self._clock = clock
        self._new_id = ids.uuid
        self._guard = guard
        self._envelope = envelope_writer(tenant_id, agent_id, trace_id, run_id)
        self._key = trace_id.encode()
        self._source = (_CE_SOURCE, f"/tenants/{tenant_id}/agents/{agent_id}".encode())
        self._root_span = root_span
        self._generation = _Process.generation
        self._lock = threading.RLock()  # re-entered by signal handlers and finalisers; see `_busy`
        self._busy = False
        self._seq = 0
        self._dropped = 0
        self._losses: dict[DropReason, _Losses] = {}
        self._second = (-1, "")
        self._span = ("", (_TRACEPARENT, b""))
        self.ended = False

    @property
    def source(self) -> bytes:
        """CloudEvents source of the run's records."""
        return self._source[1]

    @property
    def kept(self) -> int:
        """Records kept so far."""
        return self._seq

    @property
    def dropped(self) -> int:
        """Records not kept so far."""
        return self._dropped

    @property
    def is_foreign(self) -> bool:
        """Whether this is a copy of a run of the parent process, made by fork."""
        return self._generation != _Process.generation

    def emit(
        self, name: str, tail: bytes, *, at: int | None = None, span_id: str | None = None, event_id: str | None = None
    ) -> str | None:
        """Publish one record. Returns its event id, or None if it was not kept."""
        if self.is_foreign:
            self._guard.note("emit", "RunOfParentProcess")
            return None
        at = self._clock.now_micros() if at is None else at
        event_id = event_id or self._new_id()
        with self._lock:
            if self.ended:
                self._guard.note("emit", "RunEnded")
                return None
            if self._busy:  # the publisher's own code was interrupted by code that records: the number is taken
                self._lose(name, DropReason.SPOOL_IO, at)
                return None
            self._busy = True
            try:
                if self._losses:
                    self._report_losses()
                return event_id if self._publish(name, tail, event_id, at, span_id) else None
            finally:
                self._busy = False

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
                self._lose(name, reason, self._clock.now_micros())

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
                tail = self._encoder.tail("RunEnded", body_of(self._seq + 1, self._dropped))
                self.ended = self._publish("RunEnded", tail, self._new_id(), self._clock.now_micros(), None, lose=False)
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

    def _publish(
        self, name: str, tail: bytes, event_id: str, at: int, span_id: str | None, *, lose: bool = True
    ) -> bool:
        # Only with the lock held.
        prefix, cloud_event = self._encoder.framing(name)
        message = Message(
            _TOPIC,
            self._key,
            self._envelope(prefix, event_id, self._seq, at) + tail,
            (
                self._parent(span_id or self._root_span),
                _CONTENT_TYPE,
                _SPEC,
                (_CE_ID, event_id.encode()),
                self._source,
                (_CE_TYPE, cloud_event),
                (_CE_TIME, self._time(at)),
            ),
        )
        try:
            self._publisher.publish(message)
        except Dropped as drop:
            if lose:
                self._lose(name, drop.reason, at)
            if drop.for_agent:
                raise
            return False
        except Exception as error:  # noqa: BLE001 - the guard decides
            if lose:
                self._lose(name, DropReason.SPOOL_IO, at)
            self._guard.swallow("publish", error)
            return False
        self._seq += 1
        return True

    def _parent(self, span_id: str) -> tuple[str, bytes]:
        known, header = self._span  # the legs of a tool call follow each other
        if span_id != known:
            header = (_TRACEPARENT, f"00-{self.trace_id}-{span_id}-01".encode())
            self._span = (span_id, header)
        return header

    def _time(self, at: int) -> bytes:
        second, fraction = divmod(at, 1_000_000)
        known, text = self._second
        if second != known:
            text = f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"
            self._second = (second, text)
        return f"{text}.{fraction:06d}Z".encode()

    def _lose(self, name: str, reason: DropReason, at: int) -> None:
        self._dropped += 1
        losses = self._losses.get(reason)
        if losses is None:
            losses = self._losses[reason] = _Losses(at)
        losses.count += 1
        if len(losses.types) < _MOST_TYPES:
            losses.types[name] = None

    def _report_losses(self) -> None:
        for reason, losses in list(self._losses.items()):
            body = {
                "count": losses.count,
                "reason": reason.value,
                "first_at": rfc3339(losses.first_at),
                "record_types": list(losses.types),
            }
            tail = self._encoder.tail("EventsDropped", body)
            if not self._publish("EventsDropped", tail, self._new_id(), self._clock.now_micros(), None, lose=False):
                return
            del self._losses[reason]
