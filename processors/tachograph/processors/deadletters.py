"""Messages that cannot become rows, kept whole, with what was wrong beside them."""

from enum import StrEnum
from typing import Final, NamedTuple

from tachograph.schemas.errors import WireError
from tachograph.schemas.headers import Header, SourceCoordinates, stream_name

COMPONENT: Final = "tachograph.worker"

_OURS: Final = frozenset(
    {
        Header.SOURCE,
        Header.ERROR_TOPIC,
        Header.ERROR_PARTITION,
        Header.ERROR_OFFSET,
        Header.ERROR_STAGE,
        Header.ERROR_CLASS,
        Header.ERROR_EXCEPTION,
        Header.ERROR_MESSAGE,
        Header.ERROR_TIMESTAMP,
    }
)
"""Headers that only the pipeline writes. Found on input they are left out, or a producer could speak for us."""


Headers = list[tuple[str, str | bytes | None]]


class Stage(StrEnum):
    """What was being done when it failed."""

    DECODE = "DECODE"
    PROCESS = "PROCESS"


class RawRecord(NamedTuple):
    """A message as it was read."""

    partition: int
    offset: int
    append_time: int
    """Microseconds since 1970, by the broker's clock."""
    key: bytes | None
    value: bytes | None
    headers: Headers


class Message(NamedTuple):
    """A message to write."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers


def dead_letter(topic: str, source_topic: str, raw: RawRecord, stage: Stage, error: Exception) -> Message:
    """The original message with Kafka Connect's error headers, for the same partition number.

    The text of an error is kept only if it is one of the wire errors, whose texts are written without content. Any
    other error's text may quote the record, so its class has to do.
    """
    headers: Headers = [(name, value) for name, value in raw.headers if name not in _OURS]
    text = str(error) if isinstance(error, WireError) else f"processing failed with {type(error).__name__}"
    source = SourceCoordinates(raw.offset, 0, stream_name(source_topic, raw.partition))
    headers += [
        (Header.SOURCE.value, source.to_bytes()),
        (Header.ERROR_TOPIC.value, source_topic.encode()),
        (Header.ERROR_PARTITION.value, str(raw.partition).encode()),
        (Header.ERROR_OFFSET.value, str(raw.offset).encode()),
        (Header.ERROR_STAGE.value, stage.value.encode()),
        (Header.ERROR_CLASS.value, COMPONENT.encode()),
        (Header.ERROR_EXCEPTION.value, f"{type(error).__module__}.{type(error).__qualname__}".encode()),
        (Header.ERROR_MESSAGE.value, text.encode()),
        (Header.ERROR_TIMESTAMP.value, str(raw.append_time // 1000).encode()),
    ]
    return Message(topic, raw.partition, raw.key, raw.value, headers)
