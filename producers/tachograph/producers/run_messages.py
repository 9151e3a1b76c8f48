"""Records of one run as Kafka messages: envelope, headers, key."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from tachograph.producers.avro_bytes import envelope_writer
from tachograph.producers.publishing import Message
from tachograph.schemas.headers import CONTENT_TYPE_AVRO, Header
from tachograph.schemas.topics import EVENTS

if TYPE_CHECKING:  # brings fastavro and pydantic, which importing the tracer must not
    from tachograph.producers.encoding import RecordEncoder

TOPIC: Final = EVENTS.name
_CONTENT_TYPE: Final = (Header.CONTENT_TYPE.value, CONTENT_TYPE_AVRO)
_SPEC: Final = (Header.CE_SPECVERSION.value, b"1.0")
_TRACEPARENT: Final = Header.TRACEPARENT.value
_CE_ID: Final = Header.CE_ID.value
_CE_SOURCE: Final = Header.CE_SOURCE.value
_CE_TYPE: Final = Header.CE_TYPE.value
_CE_TIME: Final = Header.CE_TIME.value


def rfc3339(micros: int) -> str:
    """Moment as RFC 3339 text, UTC."""
    seconds, fraction = divmod(micros, 1_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:06d}Z"


class RunMessages:
    """Makes the messages of one run. Safe to use from the agent's threads and the sender's at once."""

    def __init__(
        self, *, tenant_id: str, agent_id: str, trace_id: str, run_id: str, root_span: str, encoder: "RecordEncoder"
    ) -> None:
        self.trace_id = trace_id
        self.encoder = encoder
        self._envelope = envelope_writer(tenant_id, agent_id, trace_id, run_id)
        self._key = trace_id.encode()
        self.source = f"/tenants/{tenant_id}/agents/{agent_id}".encode()
        """CloudEvents source of the run's records."""
        self._source = (_CE_SOURCE, self.source)
        self._root_span = root_span
        # Each is one tuple, read and replaced whole: threads may meet here without a lock.
        self._second = (-1, "")
        self._span = ("", (_TRACEPARENT, b""))

    def message(self, name: str, tail: bytes, event_id: str, seq: int, at: int, span_id: str | None) -> Message:  # noqa: PLR0917 - the parts of one thing
        """The record of this number."""
        prefix, cloud_event = self.encoder.framing(name)
        return Message(
            TOPIC,
            self._key,
            self._envelope(prefix, event_id, seq, at) + tail,
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
