"""One batch: decode, group by run, process, encode. Decides everything about it and writes nothing."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from tachograph.processors.bounds import MOST_ID
from tachograph.processors.core import Incoming, process
from tachograph.processors.deadletters import Headers, Message, RawRecord, Stage, dead_letter
from tachograph.processors.digests import digest
from tachograph.processors.errors import RowTooLargeError
from tachograph.processors.limits import DeadLetterLimits
from tachograph.processors.names import TopicNames
from tachograph.processors.report import Output
from tachograph.processors.runs import Runs
from tachograph.processors.state import RunState
from tachograph.processors.sweep import Swept
from tachograph.processors.violation_headers import violation_headers
from tachograph.schemas.errors import WireError, WrongTypeError
from tachograph.schemas.headers import Header, SourceCoordinates, stream_name
from tachograph.schemas.topics import RECORD_TYPES
from tachograph.schemas.wire import Codec, Decoded

MAX_ROW_BYTES: Final = 1_000_000
"""Largest row. The broker's default limit on a message is 1,048,588 bytes; the rest is for key, headers and framing."""

_TYPES: Final = frozenset(RECORD_TYPES)
_SOURCE: Final = Header.SOURCE.value
_VIOLATIONS: Final = "rows.violations"
_LOGGED_PER_BATCH: Final = 5
"""Dead letters logged one by one; the rest of a batch is in the counters."""

Core = Callable[[RunState, Incoming], list[Output]]
"""What makes outputs of a record; :func:`tachograph.processors.core.process` but in tests."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Batch:
    """What came of a batch."""

    messages: list[Message] = field(default_factory=list)
    """Outputs and dead letters: within a partition in the order of their source."""
    changed: dict[int, dict[bytes, RunState]] = field(default_factory=dict)
    """States to save, by partition and run."""
    forgotten: dict[int, list[bytes]] = field(default_factory=dict)
    """Runs to delete, by partition."""
    next_offsets: dict[int, int] = field(default_factory=dict)
    """Offset after the last record, by partition: what may be committed once all of the above is stored."""
    newest: dict[int, int] = field(default_factory=dict)
    """Broker time of the last record, by partition."""
    records: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)
    repeats: int = 0

    def outputs(self) -> Counter[str]:
        """Messages by topic."""
        return Counter(message.topic for message in self.messages)


class BatchProcessor:
    """Turns raw records into a Batch. ``limits`` live as long as the worker."""

    def __init__(self, codec: Codec, names: TopicNames, limits: DeadLetterLimits, *, core: Core = process) -> None:
        self._core = core
        self._codec = codec
        self._names = names
        self._limits = limits
        self._topics: dict[str, str] = {}

    def run(self, records: Iterable[RawRecord], runs_of: Callable[[int], Runs]) -> Batch:
        """Apply records, in order, to the runs of their partitions.

        Raises DeadLetterLimitError, and nothing else that an input could cause.
        """
        batch = Batch()
        self.extend(batch, records, runs_of)
        self.close(batch, runs_of)
        return batch

    def extend(self, batch: Batch, records: Iterable[RawRecord], runs_of: Callable[[int], Runs]) -> None:
        """Apply the next records of a batch."""
        for raw in records:
            partition = raw.partition
            dead = self._one(raw, runs_of(partition), batch)
            batch.next_offsets[partition] = raw.offset + 1
            batch.newest[partition] = raw.append_time
            self._limits.record(partition, dead=dead)

    def close(self, batch: Batch, runs_of: Callable[[int], Runs]) -> None:
        """There are no more records: forget the runs whose time is over."""
        for partition, now in batch.newest.items():
            _forget(partition, runs_of(partition), now, batch)

    def _one(self, raw: RawRecord, runs: Runs, batch: Batch) -> bool:
        """Handle one record. Returns whether it became a dead letter."""
        try:
            decoded = self._decode(raw)
        except WireError as error:
            self._bury(raw, Stage.DECODE, error, batch)
            return True
        key = run_key(decoded, raw)
        state = runs.get(key)
        if state is None:
            state = RunState()
        elif state.holds(raw.offset):
            batch.repeats += 1
            return False
        incoming = Incoming(
            decoded.name, decoded.record, raw.partition, raw.offset, raw.append_time, digest(raw.value or b"")
        )
        try:
            outputs = self._core(state, incoming)
            # From here on the record is applied, whether or not its rows can be written.
            runs.put(key, state)
            batch.changed.setdefault(raw.partition, {})[key] = state
            stream = stream_name(self._names.events, raw.partition)
            batch.messages += self._encode(outputs, raw.partition, raw.offset, stream)
        except Exception as error:  # noqa: BLE001 - whatever a record can cause, it must not stop the others
            self._bury(raw, Stage.PROCESS, error, batch)
            return True
        batch.records[decoded.name] += 1
        return False

    def _decode(self, raw: RawRecord) -> Decoded:
        decoded = self._codec.decode(raw.value)
        if decoded.name not in _TYPES:
            raise WrongTypeError(f"a {decoded.name} is not a record that agents emit")
        return decoded

    def swept_messages(self, partition: int, swept: Iterable[Swept]) -> list[Message]:
        """Outputs of a sweep, as messages."""
        messages: list[Message] = []
        for item in swept:
            stream = stream_name(self._names.events, partition) + item.stream
            messages += self._encode(item.outputs, partition, item.state.last_offset, stream)
        return messages

    def _encode(self, outputs: list[Output], partition: int, offset: int, stream: str) -> list[Message]:
        messages = []
        for index, (topic, key, schema, row) in enumerate(outputs):
            value = self._codec.encode(schema, row)
            if len(value) > MAX_ROW_BYTES:
                raise RowTooLargeError(f"a row of {schema} has {len(value)} bytes")
            headers: Headers = [(_SOURCE, SourceCoordinates(offset, index, stream).to_bytes())]
            if schema == _VIOLATIONS:
                headers += violation_headers(row)
            messages.append(Message(self._topic(topic), partition, key.encode(), value, headers))
        return messages

    def _topic(self, name: str) -> str:
        return self._topics.get(name) or self._topics.setdefault(name, self._names.output(name))

    def _bury(self, raw: RawRecord, stage: Stage, error: Exception, batch: Batch) -> None:
        batch.messages.append(dead_letter(self._names.dead_letters, self._names.events, raw, stage, error))
        batch.dead_letters[type(error).__name__] += 1
        if batch.dead_letters.total() <= _LOGGED_PER_BATCH:
            log.warning(
                "record at partition %d, offset %d is a dead letter: %s in %s",
                raw.partition,
                raw.offset,
                type(error).__name__,
                stage.value,
            )


def run_key(decoded: Decoded, raw: RawRecord) -> bytes:
    """Name of the run a record belongs to, unique over tenants.

    A record that names no run is kept with those of its trace, its Kafka key, or its partition, so that it is counted
    somewhere and lost nowhere.
    """
    record = decoded.record
    run_id = record["run_id"]
    if run_id:
        return f"{record['tenant_id']}/run/{run_id}".encode()
    if record["trace_id"]:
        return f"{record['tenant_id']}/trace/{record['trace_id']}".encode()
    if raw.key:
        key = raw.key if len(raw.key) <= MOST_ID else digest(raw.key).hex().encode()
        return f"{record['tenant_id']}/key/".encode() + key
    return f"{record['tenant_id']}/{raw.partition}:unknown".encode()


def _forget(partition: int, runs: Runs, now: int, batch: Batch) -> None:
    changed = batch.changed.get(partition, {})
    # A run of this very batch stays: its state must be on the broker before it may be deleted there.
    keys = [key for key in runs.forgettable(now) if key not in changed]
    for key in keys:
        runs.forget(key)
    if keys:
        batch.forgotten[partition] = keys
