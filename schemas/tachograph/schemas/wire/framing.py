"""How a Kafka value says which schema wrote it.

Single-object encoding: ``C3 01``, then the 8-byte CRC-64-AVRO fingerprint, little-endian, of the schema's parsing
canonical form. Confluent framing: ``00``, then the 4-byte registry id, big-endian. The first byte tells them apart.
"""

import struct
from enum import Enum
from typing import Final

from tachograph.schemas.errors import EmptyMessageError, TruncatedError, UnknownFramingError

SINGLE_OBJECT_PREFIX: Final = b"\xc3\x01"
SINGLE_OBJECT_SIZE: Final = 10
CONFLUENT_MAGIC: Final = 0
CONFLUENT_SIZE: Final = 5
_CONFLUENT: Final = struct.Struct(">bI")


class Framing(Enum):
    """The two framings we read."""

    SINGLE_OBJECT = SINGLE_OBJECT_SIZE
    CONFLUENT = CONFLUENT_SIZE

    @property
    def size(self) -> int:
        """Bytes before the record."""
        return self.value


def split(value: bytes | None) -> tuple[Framing, bytes]:
    """The framing of a value, and its bytes: they name the schema and can be used as a key."""
    if not value:
        raise EmptyMessageError("the message has no value")
    if value[:2] == SINGLE_OBJECT_PREFIX:
        if len(value) < SINGLE_OBJECT_SIZE:
            raise TruncatedError("the message ends within its schema fingerprint")
        return Framing.SINGLE_OBJECT, value[:SINGLE_OBJECT_SIZE]
    if value[0] == CONFLUENT_MAGIC:
        if len(value) < CONFLUENT_SIZE:
            raise TruncatedError("the message ends within its schema id")
        return Framing.CONFLUENT, value[:CONFLUENT_SIZE]
    raise UnknownFramingError("the message starts with neither C3 01 (single-object) nor 00 (Confluent)")


def single_object_prefix(fingerprint: str) -> bytes:
    """Framing for a fingerprint given as hex."""
    return SINGLE_OBJECT_PREFIX + bytes.fromhex(fingerprint)


def confluent_prefix(schema_id: int) -> bytes:
    """Framing for a registry id."""
    return _CONFLUENT.pack(CONFLUENT_MAGIC, schema_id)


def confluent_id(prefix: bytes) -> int:
    """Registry id of a Confluent framing."""
    schema_id: int = _CONFLUENT.unpack(prefix)[1]
    return schema_id
