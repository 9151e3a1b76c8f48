"""Sealing one partition of the events topic. Pure: messages in, messages out, no clock but the broker's.

What comes out is a function of the messages before it in the partition and of the catalog and keys. A sealer that
starts again, or one that does not know yet that it was replaced, makes the same bytes.
"""

import contextlib
import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from tachograph.processors.batch import MAX_ROW_BYTES
from tachograph.processors.catalog.catalog import Catalog
from tachograph.processors.deadletters import Message, RawRecord, Stage, dead_letter
from tachograph.processors.digests import digest
from tachograph.processors.names import TopicNames
from tachograph.processors.records.memory import OBSERVED, Memory, SealedFact
from tachograph.processors.records.validate import Verdict, validate
from tachograph.processors.sealing.custody import Signer
from tachograph.processors.sealing.errors import CustodyError, HeadError, UnsealableError
from tachograph.processors.sealing.findings import violations_of
from tachograph.processors.sealing.head import log_id
from tachograph.processors.sealing.logs import NOTHING, Logs
from tachograph.processors.sealing.rows import checkpoint_row, record_row, sealed_fact
from tachograph.processors.sealing.seal import checkpoint, seal
from tachograph.processors.violation_headers import violation_headers
from tachograph.schemas.canonical import CanonicalError, strict_loads
from tachograph.schemas.errors import WireError
from tachograph.schemas.headers import Header, SourceCoordinates, stream_name
from tachograph.schemas.proofs.keys import KeyNotEffectiveError, KeySet
from tachograph.schemas.topics import CHECKPOINTS, RECORDS, ViolationKind, violation_topic
from tachograph.schemas.wire import Codec

STREAM: Final = "#sealer"
"""What the streams of the sealer are called: the topic read, and this."""

_PROPOSAL: Final = "RecordProposal"
_SOURCE: Final = Header.SOURCE.value

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Sealing:
    """What sealing is done with, in every partition. Keys are replaced when a set that extends them is read."""

    catalog: Catalog
    keys: KeySet
    signer: Signer
    codec: Codec
    names: TopicNames
    """Topics read."""
    outputs: TopicNames
    """Topics written; others than those read only where a whole topic is replayed beside the real one."""
    silence_us: int

    def proposes(self, value: bytes | None) -> bool:
        """Whether a message is a proposal, without reading it."""
        try:
            return self.codec.schema_name(value) == _PROPOSAL
        except WireError:
            return False


@dataclass(slots=True)
class Made:
    """What came of some messages, in the order in which it must be stored."""

    before: list[Message] = field(default_factory=list)
    """Violations and dead letters. They come first, because a record that is stored is never judged again."""
    records: list[Message] = field(default_factory=list)
    touched: dict[str, str] = field(default_factory=dict)
    """Logs that grew and their tenants, the one whose last record is oldest first."""
    statuses: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    """Rules that blocked."""
    blocked: int = 0
    dead: int = 0


class PartitionSealer:
    """The logs of one partition, and what its runs have recorded."""

    def __init__(self, partition: int, sealing: Sealing, logs: Logs | None = None, done: int = 0) -> None:
        self.partition = partition
        self.logs = logs or Logs(lambda: sealing.keys)
        self.position = done
        """Every message before this offset has been dealt with, by this sealer or one before it."""
        self._with = sealing
        self._memory = Memory(sealing.silence_us)
        self._facts: dict[int, SealedFact] = {}
        self._stream = stream_name(sealing.names.events, partition) + STREAM

    @property
    def low_offset(self) -> int:
        """Where a sealer after us must begin to read in order to know what we know."""
        return min(self._memory.low_offset(self.position), self.position)

    @property
    def runs(self) -> int:
        """Traces remembered."""
        return len(self._memory)

    def recovered(self, source: int, content: dict[str, Any]) -> None:
        """A record of the output topic that is not of our making: the rest of its run is judged by it."""
        self._facts[source] = SealedFact(**sealed_fact(content))

    def take(self, messages: Iterable[RawRecord]) -> Made:
        """Judge and seal every proposal among messages, in order. Raises what must stop sealing."""
        made, now = Made(), 0
        for raw in messages:
            with contextlib.suppress(WireError):  # the worker's to dead-letter
                self._one(raw, made)
            self.position = max(self.position, raw.offset + 1)
            now = max(now, raw.append_time)
        self._memory.forget_silent(now)
        return made

    def checkpoints(self, touched: dict[str, str]) -> list[Message]:
        """A signed checkpoint of each log, as it stands."""
        return [self._checkpoint(log_name, tenant) for log_name, tenant in touched.items()]

    def heads_since(self, offset: int) -> dict[str, str]:
        """Logs whose last record was made of a message at or after an offset, and their tenants, oldest first."""
        recent = sorted((self.logs.source(name), name) for name in self.logs.heads)
        return {name: tenant_of(name) for source, name in recent if source >= offset}

    def _one(self, raw: RawRecord, made: Made) -> None:
        codec = self._with.codec
        name = codec.schema_name(raw.value)
        if name not in OBSERVED:
            return
        record = codec.decode(raw.value).record
        if name != _PROPOSAL:
            self._memory.observe(name, record, raw.offset, raw.append_time)
            return
        facts = self._memory.facts(record, raw.append_time)
        repeated = self._memory.repeats(record, digest(raw.value or b""), raw.offset, raw.append_time)
        if raw.offset <= self.logs.sealed_to or raw.offset < self.position:
            done = self._facts.pop(raw.offset, None)
            if done is not None:
                self._memory.sealed(done)
            return
        if repeated:
            return
        try:
            proposal, unreadable = readable(record)
            verdict = validate(
                proposal,
                self._with.catalog,
                raw.append_time,
                run=facts,
                keys=self._with.keys,
                unreadable=unreadable,
            )
            self._seal(raw, proposal, verdict, made)
        except (KeyNotEffectiveError, CustodyError, HeadError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a proposal can cause, it must not stop the others
            log.warning("a proposal at %d of partition %d: %s", raw.offset, raw.partition, type(error).__name__)
            made.before.append(self._dead(raw, error))
            made.dead += 1

    def _seal(self, raw: RawRecord, proposal: dict[str, Any], verdict: Verdict, made: Made) -> None:
        with_ = self._with
        tenant = proposal["tenant_id"]
        name = log_id(tenant, self.partition)
        sealed = seal(
            self.logs.head(name),
            proposal,
            verdict,
            keys=with_.keys,
            signer=with_.signer,
            append_time=raw.append_time,
        )
        value = with_.codec.encode("rows.decision_records", record_row(sealed, raw.append_time))
        if len(value) > MAX_ROW_BYTES:
            raise UnsealableError("the sealed record is larger than a message may be: dead-letter it")
        found = violations_of(proposal, verdict)
        for index, row in enumerate(found, 1):
            topic = with_.outputs.output(violation_topic(ViolationKind(row["kind"])))
            headers = [self._source(raw.offset, index), *violation_headers(row)]
            encoded = with_.codec.encode("rows.violations", row)
            made.before.append(Message(topic, self.partition, row["trace_id"].encode(), encoded, [*headers]))
        # From here on nothing can fail: the head moves with the message that carries it.
        topic = with_.outputs.output(RECORDS.name)
        made.records.append(Message(topic, self.partition, name.encode(), value, [self._source(raw.offset, 0)]))
        self.logs.appended(sealed.head, raw.offset)
        self._memory.sealed(SealedFact(**sealed_fact(sealed.content)))
        made.touched.pop(name, None)
        made.touched[name] = tenant
        made.blocked += verdict.blocked
        made.statuses[verdict.status.value] += 1
        made.rules.update({rule.rule.value for rule in verdict.rules if not rule.passed})

    def _checkpoint(self, name: str, tenant: str) -> Message:
        with_, head = self._with, self.logs.head(name)
        note = checkpoint(head, keys=with_.keys, signer=with_.signer)
        row = checkpoint_row(tenant, head, note, with_.keys.at(head.sealed_at).key_id)
        return Message(
            with_.outputs.output(CHECKPOINTS.name),
            self.partition,
            name.encode(),
            with_.codec.encode("rows.checkpoints", row),
            [self._source(self.logs.source(name), 0)],
        )

    def _dead(self, raw: RawRecord, error: Exception) -> Message:
        made = dead_letter(self._with.outputs.dead_letters, self._with.names.events, raw, Stage.PROCESS, error)
        # A stream of its own: on the worker's, the two would pass over each other's letters.
        headers = [item for item in made.headers if item[0] != _SOURCE]
        return made._replace(headers=[*headers, self._source(raw.offset, 0)])

    def _source(self, offset: int, index: int) -> tuple[str, bytes]:
        return _SOURCE, SourceCoordinates(max(offset, 0), index, self._stream).to_bytes()


def readable(record: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The proposal with its outputs as values; what cannot be read is left out, and why."""
    try:
        outputs = strict_loads(record["outputs"])
    except CanonicalError as error:
        return record | {"outputs": {}}, error.reason.value
    if not isinstance(outputs, dict):
        return record | {"outputs": {}}, "type"
    return record | {"outputs": outputs}, None


def tenant_of(name: str) -> str:
    """Tenant of a log, from its name."""
    return unquote(name.rpartition("/")[0])


def source_of(headers: Iterable[tuple[str, Any]] | None) -> int:
    """Input offset that a record says it was made of; NOTHING if it says none."""
    for name, value in headers or ():
        if name == _SOURCE and isinstance(value, bytes):
            try:
                return SourceCoordinates.from_bytes(value).offset
            except ValueError:
                return NOTHING
    return NOTHING
