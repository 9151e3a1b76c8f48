"""Dead letters: what the sink writes when it gives a message up, and the row that every dead letter becomes.

The only place of the sink that encodes a row. Everything in it comes from headers, so it says what was wrong and where,
never what the message held.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final, Protocol

from tachograph.schemas.headers import Header, SourceCoordinates, stream_name
from tachograph.schemas.tables import BY_NAME
from tachograph.schemas.wire import Codec

COMPONENT: Final = "tachograph.sinks.clickhouse"
DEAD_LETTER_TABLE: Final = BY_NAME["dead_letters"].name
_ROW: Final = f"rows.{DEAD_LETTER_TABLE}"

_TEXT_LIMIT: Final = 2000
"""Characters kept of a header: a foreign writer's stack trace is cut."""

_LARGEST: Final = 2**53 - 1
"""Largest count of the contract. A header that claims more is not believed."""

_REPLACED: Final = frozenset(
    {
        Header.SOURCE.value,
        Header.ERROR_TOPIC.value,
        Header.ERROR_PARTITION.value,
        Header.ERROR_OFFSET.value,
        Header.ERROR_STAGE.value,
        Header.ERROR_CLASS.value,
        Header.ERROR_EXCEPTION.value,
        Header.ERROR_MESSAGE.value,
        Header.ERROR_TIMESTAMP.value,
    }
)


class PlacedMessage(Protocol):
    """A Kafka message with its place."""

    def topic(self) -> str | None:
        """Topic it was read from."""

    def partition(self) -> int | None:
        """Partition it was read from."""

    def offset(self) -> int | None:
        """Offset it was read at."""

    def value(self) -> bytes | None:
        """Its bytes."""

    def headers(self) -> Any:
        """Its headers as pairs, or None."""

    def timestamp(self) -> tuple[int, int]:
        """Kind of time, milliseconds since 1970."""


def error_headers(
    message: PlacedMessage, stage: str, error: Exception, component: str = COMPONENT
) -> list[tuple[str, bytes]]:
    """Headers of a dead letter: those of the message, and what was wrong with it."""
    topic, partition, offset = message.topic() or "", message.partition() or 0, message.offset() or 0
    kept = [
        (name, value if isinstance(value, bytes) else (value or "").encode())
        for name, value in message.headers() or ()
        if name not in _REPLACED
    ]
    written = {
        Header.SOURCE: SourceCoordinates(offset, 0, stream_name(topic, partition)).to_bytes(),
        Header.ERROR_TOPIC: topic.encode(),
        Header.ERROR_PARTITION: str(partition).encode(),
        Header.ERROR_OFFSET: str(offset).encode(),
        Header.ERROR_STAGE: stage.encode(),
        Header.ERROR_CLASS: component.encode(),
        Header.ERROR_EXCEPTION: type(error).__name__.encode(),
        Header.ERROR_MESSAGE: str(error).encode(),
        Header.ERROR_TIMESTAMP: str(max(0, message.timestamp()[1])).encode(),
    }
    return kept + [(header.value, value) for header, value in written.items()]


class DeadLetterRows:
    """Makes the rows of ``dead_letters`` from messages of the dead-letter topic."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def encoded(self, message: Any) -> bytes:
        """The framed row of a dead letter."""
        return self._codec.encode(_ROW, dead_letter_row(message))


def dead_letter_row(message: PlacedMessage) -> dict[str, Any]:
    """A row of ``dead_letters``. Whatever headers are missing, there is a row: the dead letter then names itself."""
    headers = {name: value for name, value in message.headers() or () if isinstance(value, bytes)}
    topic = _text(headers, Header.ERROR_TOPIC)
    if topic:
        partition, offset = _count(headers, Header.ERROR_PARTITION), _count(headers, Header.ERROR_OFFSET)
    else:
        topic, partition, offset = message.topic() or "", message.partition() or 0, message.offset() or 0
    value = message.value() or b""
    millis = _count(headers, Header.ERROR_TIMESTAMP) or max(0, message.timestamp()[1])
    return {
        "tenant_id": _tenant(headers),
        "dead_letter_id": hashlib.sha256(f"{topic}/{partition}/{offset}".encode()).hexdigest(),
        "source_topic": topic,
        "source_partition": partition,
        "source_offset": offset,
        "stage": _text(headers, Header.ERROR_STAGE) or "UNKNOWN",
        "component": _text(headers, Header.ERROR_CLASS),
        "error_type": _text(headers, Header.ERROR_EXCEPTION),
        "error": _text(headers, Header.ERROR_MESSAGE),
        "size_bytes": len(value),
        "value_sha256": hashlib.sha256(value).hexdigest(),
        "occurred_at": min(millis, _LARGEST // 1000) * 1000,
    }


def _text(headers: Mapping[str, bytes], header: Header) -> str:
    return headers.get(header.value, b"").decode(errors="replace")[:_TEXT_LIMIT]


def _count(headers: Mapping[str, bytes], header: Header) -> int:
    text = headers.get(header.value, b"")
    return min(int(text), _LARGEST) if text.isdigit() and len(text) < 20 else 0  # noqa: PLR2004 - digits of a long


def _tenant(headers: Mapping[str, bytes]) -> str:
    """Tenant of the original message, as ``/tenants/<tenant>/agents/<agent>`` names it; empty if it does not."""
    parts = _text(headers, Header.CE_SOURCE).split("/")
    return parts[2] if len(parts) > 2 and parts[:2] == ["", "tenants"] else ""  # noqa: PLR2004 - see the form above
