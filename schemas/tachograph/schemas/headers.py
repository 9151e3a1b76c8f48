"""Names of the Kafka headers we write and read, and the one binary value among them."""

import struct
from enum import StrEnum
from typing import Final, NamedTuple


class Header(StrEnum):
    """Every header name."""

    TRACEPARENT = "traceparent"
    """W3C Trace Context of the record, where the producer has one."""

    CONTENT_TYPE = "content-type"
    """``application/avro``; captures are ``application/octet-stream``."""

    CE_SPECVERSION = "ce_specversion"
    """CloudEvents binary mode: ``1.0``."""

    CE_ID = "ce_id"
    """CloudEvents id: the record's ``event_id``, a violation's ``violation_id``."""

    CE_SOURCE = "ce_source"
    """CloudEvents source: ``/tenants/<tenant>/agents/<agent>``. Captures carry it too: they say whose they are."""

    CE_TYPE = "ce_type"
    """CloudEvents type: ``tachograph.<RecordType>.v<N>``."""

    CE_TIME = "ce_time"
    """CloudEvents time: the record's ``occurred_at``, RFC 3339."""

    CE_SUBJECT = "ce_subject"
    """CloudEvents subject, on violations: the run it is about; left out if it is about none."""

    SOURCE = "tg-source"
    """Where in the input this output came from: see :class:`SourceCoordinates`."""

    SPOOL = "tg-spool"
    """Which spool of which process held the message, and where in it: a repeat carries the same place."""

    CAPTURE_ID = "tg-capture-id"
    """Captures: id that an AgentFailure names in its ``capture_ids``."""

    CAPTURE_KIND = "tg-capture-kind"
    """``prompt`` or ``tool_output``."""

    CAPTURE_TRIGGER = "tg-capture-trigger"
    """Fault that asked for it, or ``sampled``."""

    CAPTURE_RUN = "tg-capture-run"
    """Run it belongs to."""

    CAPTURE_STEP = "tg-capture-step"
    """Step it belongs to; empty outside of any."""

    CAPTURE_EVENT = "tg-capture-event"
    """Event that a sampled prompt led to; empty where a failure record names the capture."""

    CAPTURE_TOOL_USE = "tg-capture-tool-use"
    """Tool call whose output it is; empty for a prompt."""

    CAPTURE_SHA256 = "tg-capture-sha256"
    """SHA-256 of the plain bytes of the whole capture, hexadecimal."""

    CAPTURE_KEY = "tg-capture-key"
    """Id of the key it is encrypted with."""

    CAPTURE_PART = "tg-capture-part"
    """``<place>/<parts>``, from 0: large captures are several messages."""

    ERROR_TOPIC = "__connect.errors.topic"
    """Dead letters, named as Kafka Connect names them: topic the message was read from."""

    ERROR_PARTITION = "__connect.errors.partition"
    """Partition it was read from."""

    ERROR_OFFSET = "__connect.errors.offset"
    """Offset it was read at."""

    ERROR_STAGE = "__connect.errors.stage"
    """What was being done: ``DECODE``, ``PROCESS``, ``INSERT`` or ``DELIVER``."""

    ERROR_CLASS = "__connect.errors.class.name"
    """Component that gave up."""

    ERROR_EXCEPTION = "__connect.errors.exception.class.name"
    """Class of the error."""

    ERROR_MESSAGE = "__connect.errors.exception.message"
    """What was wrong, without the content that was wrong."""

    ERROR_TIMESTAMP = "tg-errors.timestamp"
    """Broker time of the original message in milliseconds."""


CONTENT_TYPE_AVRO: Final = b"application/avro"

_COORDINATES = struct.Struct(">QI")
COORDINATES_SIZE: Final = _COORDINATES.size


class SourceCoordinates(NamedTuple):
    """Place of an output in its input stream.

    On the wire: 12 big-endian bytes, so that raw bytes compare like the numbers, then the stream's name. A sink
    keeps the highest coordinates it has landed per stream, and drops what is not above them: that is how repeats of a
    restarted worker vanish.
    """

    offset: int
    output_index: int
    stream: str

    def to_bytes(self) -> bytes:
        """Header value."""
        return _COORDINATES.pack(self.offset, self.output_index) + self.stream.encode()

    @classmethod
    def from_bytes(cls, value: bytes) -> "SourceCoordinates":
        """Read a header value. Raises ValueError if it is not one."""
        if len(value) < COORDINATES_SIZE:
            raise ValueError(f"source coordinates need {COORDINATES_SIZE} bytes, got {len(value)}")
        offset, output_index = _COORDINATES.unpack_from(value)
        return cls(offset, output_index, value[COORDINATES_SIZE:].decode())


def stream_name(topic: str, partition: int) -> str:
    """Name of one partition as a source of coordinates."""
    return f"{topic}/{partition}"
