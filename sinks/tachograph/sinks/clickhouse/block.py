"""Raw messages to Avro files, without decoding one of them.

A message less its framing is one row. Partition and offset are appended to it as two varints, because they are the last
fields of the schema in the file's header. What comes out is posted to ClickHouse as it is.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from tachograph.schemas.errors import WireError
from tachograph.sinks.clickhouse.repeats import Marks, Repeats
from tachograph.sinks.clickhouse.schemas import RowSchema, RowSchemas
from tachograph.sinks.clickhouse.varint import OffsetVarints, varint


class RawMessage(Protocol):
    """What is used of a Kafka message."""

    def value(self) -> bytes | None:
        """Its bytes."""

    def offset(self) -> int | None:
        """Its place in the partition."""

    def headers(self) -> Any:
        """Its headers as pairs, or None."""


Value = Callable[[RawMessage], bytes | None]
"""How a message becomes a framed row: its own value, except where rows are made from headers."""


class Unreadable(NamedTuple):
    """A message that is no row of its table."""

    message: RawMessage
    error: WireError


@dataclass(slots=True)
class Rows:
    """Rows of one schema within a range, in order."""

    schema: RowSchema
    pieces: list[bytes] = field(default_factory=list)
    """Two for each row: its bytes without framing, and what is appended. Joined once, when all are known: joining them
    row by row would copy everything once more."""
    messages: list[RawMessage] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.messages)

    def file(self, low: int, high: int) -> bytes:
        """Rows ``[low, high)`` as one Avro file of one block."""
        pieces = self.pieces[2 * low : 2 * high]
        size = varint(sum(map(len, pieces)))
        return b"".join((self.schema.header, varint(high - low), size, *pieces, self.schema.sync))


@dataclass(frozen=True, slots=True)
class Block:
    """A range of one partition, ready to be inserted."""

    rows: Sequence[Rows]
    """One entry per schema met. Almost always one; two while producers are being upgraded."""
    unreadable: Sequence[Unreadable]
    repeats: int
    """Messages left out because they had landed before."""
    marks: Marks
    """High-water marks after the range."""


def own_value(message: RawMessage) -> bytes | None:
    """A row topic's message is the row."""
    return message.value()


def build(
    messages: Iterable[RawMessage], partition: int, schemas: RowSchemas, marks: Marks, value_of: Value = own_value
) -> Block:
    """Build what is to be inserted. The same messages and marks give the same bytes."""
    repeats, suffix = Repeats(marks), OffsetVarints(partition).suffix
    seen = repeats.seen
    by_schema: dict[str, Rows] = {}
    unreadable: list[Unreadable] = []
    left_out = 0
    prefix, size, rows = b"", 0, None
    for message in messages:
        if seen(message.headers()):
            left_out += 1
            continue
        value = value_of(message)
        if rows is None or value is None or value[:size] != prefix:
            try:
                schema = schemas.of(value)
            except WireError as error:
                unreadable.append(Unreadable(message, error))
                continue
            assert value is not None
            rows = by_schema.setdefault(schema.tag, Rows(schema))
            size = schema.framing_size
            prefix = value[:size]
            add, keep = rows.pieces.append, rows.messages.append
        add(value[size:])
        add(suffix(message.offset() or 0))
        keep(message)
    return Block(list(by_schema.values()), unreadable, left_out, repeats.marks)
