"""What the worker remembers of one run between batches."""

from typing import Any, Final

import orjson

NEVER: Final = -1
"""Offset before the first."""

_VERSION: Final = 1
"""First element of the encoding. A later layout gets the next number, and ``from_bytes`` keeps reading this one."""


class RunState:
    """A run so far: how much of it was applied, and the facts that the row of its end repeats.

    Encoded as a JSON array, because it is written once per run per batch and read whole at a restart. Measured on a
    typical state, in one run: 158 bytes, 12 times faster to write and 4 times faster to read than 118 bytes of Avro.
    """

    __slots__ = (
        "agent_version",
        "branch",
        "capture_mode",
        "channel",
        "dropped",
        "ended",
        "environment",
        "last_append_time",
        "last_offset",
        "parent_run_id",
        "received",
        "repo",
        "request_id",
        "sdk",
        "session_id",
        "started_at",
        "ticket_id",
    )

    def __init__(self) -> None:
        self.last_offset: int = NEVER
        """Highest input offset applied. A record at or below it is a repeat."""
        self.last_append_time: int = 0
        """Broker time of that record, in microseconds: the only clock there is."""
        self.received: int = 0
        """Records applied."""
        self.dropped: int = 0
        """Records the producer said it lost, in EventsDropped."""
        self.ended: bool = False
        self.started_at: int | None = None
        self.session_id: str = ""
        self.agent_version: str = ""
        self.environment: str = ""
        self.capture_mode: str = ""
        self.request_id: str = ""
        self.channel: str = ""
        self.repo: str | None = None
        self.branch: str | None = None
        self.ticket_id: str | None = None
        self.parent_run_id: str | None = None
        self.sdk: str = ""

    def holds(self, offset: int) -> bool:
        """Whether the record at this offset was applied before."""
        return offset <= self.last_offset

    def to_bytes(self) -> bytes:
        """Value in the changelog."""
        return orjson.dumps([_VERSION, *(getattr(self, name) for name in _LAYOUT)])

    @classmethod
    def from_bytes(cls, value: bytes) -> "RunState":
        """Read a changelog value. Raises ValueError if it is not one."""
        version, *fields = orjson.loads(value)
        if version != _VERSION or len(fields) != len(_LAYOUT):
            raise ValueError("the state was written by another version of the worker")
        state = cls()
        for name, field in zip(_LAYOUT, fields, strict=True):
            setattr(state, name, field)
        return state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunState) and self._fields() == other._fields()

    __hash__ = None  # type: ignore[assignment]  # it changes with every record

    def __repr__(self) -> str:
        # Ids and counts only: a repr may end up in a log.
        return f"RunState(last_offset={self.last_offset}, received={self.received}, ended={self.ended})"

    def _fields(self) -> list[Any]:
        return [getattr(self, name) for name in _LAYOUT]


_LAYOUT: Final = tuple(RunState.__slots__)
"""Order of the encoding. Alphabetical, as the slots are; a new field needs a new version."""
