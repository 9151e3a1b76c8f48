"""Where in which spool a message was: its name for as long as it may be sent more than once."""

import struct
from typing import Final, NamedTuple

from tachograph.schemas.headers import Header

SPOOL_HEADER: Final = Header.SPOOL.value
"""Kafka header of every message that comes from a spool: :class:`SpoolCoordinates`."""

SPOOL_ID_SIZE: Final = 8

_COORDINATES = struct.Struct(">8sII")


class SpoolCoordinates(NamedTuple):
    """Place of a message in the spool it came from.

    On the wire: 16 bytes, spool id first, then numbers in big-endian order, so that raw bytes of one spool compare
    like its history. Within one partition the coordinates of one spool only grow; a message that is not above the
    highest seen is a repeat.
    """

    spool: bytes
    """Random id of the sub-folder."""
    segment: int
    """Number of the segment file, from 1, per topic."""
    frame: int
    """Number of the frame in its segment, from 0."""

    def to_bytes(self) -> bytes:
        """Header value."""
        return _COORDINATES.pack(self.spool, self.segment, self.frame)

    @classmethod
    def from_bytes(cls, value: bytes) -> "SpoolCoordinates":
        """Read a header value. Raises ValueError if it is not one."""
        if len(value) != _COORDINATES.size:
            raise ValueError(f"spool coordinates are {_COORDINATES.size} bytes, got {len(value)}")
        return cls(*_COORDINATES.unpack(value))
