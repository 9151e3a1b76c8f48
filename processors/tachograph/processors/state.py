"""What the worker remembers of one run between batches."""

from sys import intern
from typing import Any, ClassVar, Final

import orjson

from tachograph.processors.calls import Call
from tachograph.processors.conversations import Conversations
from tachograph.processors.digests import Digests
from tachograph.processors.evaluate import RunFacts
from tachograph.processors.parents import Parents
from tachograph.processors.seqs import Seqs

NEVER: Final = -1
"""Offset before the first."""

_VERSION: Final = 2
"""First element of the encoding. A later layout gets the next number, and ``from_bytes`` keeps reading the older."""

_LAYOUT_1: Final = (
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
"""Order of the first version's fields, and of the first fields of every later one."""

_PLAIN_2: Final = (
    "tenant_id",
    "agent_id",
    "run_id",
    "trace_id",
    "last_event_id",
    "last_occurred_at",
    "last_seq",
    "repeats",
    "tool_calls",
    "tool_calls_joined",
    "results_missing",
    "swept_at",
    "silent_at",
    "reported",
    "conversations",
    "parents",
    "wanted",
)
"""Fields that version 2 adds and JSON holds as they are."""

_COMMON: Final = frozenset(
    {"agent_id", "agent_version", "branch", "capture_mode", "channel", "environment", "repo", "sdk", "tenant_id"}
)
"""Texts that many runs have in common. Each is in memory once."""


class RunState:
    """A run so far: how much of it was applied, the facts its last row repeats, and what is still expected.

    Encoded as a JSON array, because it is written once per run per batch and read whole at a restart. Everything in it
    is bounded, so that it always fits into a message: open tool calls take at most 256 KB (see ``join``), the names of
    nested calls 150 KB, everything else together less than 100 KB. A run of the usual kind takes 1 to 16 KB.
    """

    MOST_WANTED: ClassVar[int] = 128
    """Parents waited for. More orphans than that are not told apart."""

    __slots__ = (
        *_LAYOUT_1,
        *_PLAIN_2,
        "calls",
        "closed",
        "facts",
        "open_bytes",
        "seen",
        "seqs",
        "spans",
    )

    def __init__(self) -> None:  # noqa: PLR0915 - one statement a field, each with its meaning
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
        self.tenant_id: str = ""
        self.agent_id: str = ""
        self.run_id: str = ""
        self.trace_id: str = ""
        """The first that a record of the run named."""
        self.last_event_id: str = ""
        self.last_occurred_at: int = 0
        self.last_seq: int = 0
        self.repeats: int = 0
        """Records that came again with the same id and content."""
        self.tool_calls: int = 0
        """Calls closed, joined or not."""
        self.tool_calls_joined: int = 0
        self.results_missing: int = 0
        self.swept_at: int = NEVER
        """``last_offset`` when the sweep closed its overdue calls."""
        self.silent_at: int = NEVER
        """``last_offset`` when the sweep said that it fell silent."""
        self.reported: list[str] = []
        """Failures that are reported once per run."""
        self.conversations: Conversations = {}
        self.parents: Parents = {}
        """Calls that other calls are nested in, and parents of spans that arrived before them."""
        self.wanted: dict[str, str] = {}
        """Parents that have not been seen, and the first event that names each."""
        self.calls: dict[str, Call] = {}
        """Open tool calls, the oldest first."""
        self.open_bytes: int = 0
        """Their size; not encoded."""
        self.closed: Digests = Digests(512)
        """Tool calls that have their row."""
        self.seen: Digests = Digests(256, note=8)
        """Event ids, each with a digest of its record."""
        self.spans: Digests = Digests(1024)
        self.seqs: Seqs = Seqs()
        self.facts: RunFacts | None = None
        """What the evaluation remembers; None where nothing was evaluated."""

    def holds(self, offset: int) -> bool:
        """Whether the record at this offset was applied before."""
        return offset <= self.last_offset

    def to_bytes(self) -> bytes:
        """Value in the changelog."""
        return orjson.dumps(self._fields())

    @classmethod
    def from_bytes(cls, value: bytes) -> "RunState":
        """Read a changelog value. Raises ValueError if it is not one."""
        version, *fields = orjson.loads(value)
        state = cls()
        if version == 1 and len(fields) == len(_LAYOUT_1):
            state._restore_plain(_LAYOUT_1, fields)
        elif version == _VERSION and len(fields) == len(_PLAIN) + 6:
            state._restore_plain(_PLAIN, fields[: len(_PLAIN)])
            calls, closed, seen, spans, (state.seqs.ranges, state.seqs.given_up), facts = fields[len(_PLAIN) :]
            state.calls = {name: Call.from_json(name, call) for name, call in calls.items()}
            state.open_bytes = sum(call.bytes for call in state.calls.values())
            state.closed.restore(closed)
            state.seen.restore(seen)
            state.spans.restore(spans)
            state.facts = None if facts is None else RunFacts.from_list(facts)
        else:
            raise ValueError("the state was written by another version of the worker")
        return state

    def _restore_plain(self, names: tuple[str, ...], fields: list[Any]) -> None:
        for name, field in zip(names, fields, strict=True):
            setattr(self, name, intern(field) if field and name in _COMMON else field)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunState) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]  # it changes with every record

    def __repr__(self) -> str:
        # Ids and counts only: a repr may end up in a log.
        return f"RunState(last_offset={self.last_offset}, received={self.received}, ended={self.ended})"

    def _fields(self) -> list[Any]:
        return [
            _VERSION,
            *(getattr(self, name) for name in _PLAIN),
            {name: call.to_json() for name, call in self.calls.items()},
            self.closed.to_json(),
            self.seen.to_json(),
            self.spans.to_json(),
            [self.seqs.ranges, self.seqs.given_up],
            None if self.facts is None else self.facts.to_list(),
        ]


_PLAIN: Final = (*_LAYOUT_1, *_PLAIN_2)
