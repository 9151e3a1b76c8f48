"""Records and raw messages for tests of the worker."""

from collections.abc import Iterable, Sequence
from typing import Any

from tachograph.processors.batch import Batch, BatchProcessor
from tachograph.processors.batch import Core as CoreCall
from tachograph.processors.core import Core, Incoming, process
from tachograph.processors.deadletters import RawRecord
from tachograph.processors.digests import digest
from tachograph.processors.evaluate import Evaluator, RulePacks
from tachograph.processors.join import close_all
from tachograph.processors.limits import DeadLetterLimits
from tachograph.processors.names import TopicNames
from tachograph.processors.report import Output, Report
from tachograph.processors.runs import Runs
from tachograph.processors.state import RunState
from tachograph.processors.violations import subject_of
from tachograph.schemas.models import Record
from tachograph.schemas.settings import DeadLetterSettings
from tachograph.schemas.wire import Codec, to_avro
from tests.schemas import samples

CODEC = Codec()
JUDGING = Core(Evaluator(RulePacks.load()))
"""The core as the worker runs it."""

APPENDED = 1_772_600_767_000_000
"""Append time of offset 0 in microseconds; each offset is a second later."""


def as_decoded(record: Record, **changes: Any) -> dict[str, Any]:
    """A record as the worker sees it: over the wire and back, with ``changes`` that no SDK would make."""
    name = type(record).__name__
    return CODEC.decode(CODEC.encode(name, to_avro(record) | changes)).record


def incoming(record: Record, offset: int = 0, **changes: Any) -> Incoming:
    """A record at an offset. The same record with the same changes has the same digest, wherever it is read."""
    decoded = as_decoded(record, **changes)
    at = APPENDED + offset * 1_000_000
    return Incoming(type(record).__name__, decoded, 0, offset, at, digest(repr(decoded).encode()))


def numbered(record: Record, seq: int, **changes: Any) -> Incoming:
    """A record at its own place in its run, with ids of its own, read at the offset of the same number."""
    return incoming(record, seq, **{"seq": seq, "event_id": f"event-{seq}"} | own_span(record, seq) | changes)


def own_span(record: Record, seq: int) -> dict[str, Any]:
    """A span of its own for an event; other records may share theirs."""
    return {"span_id": f"{seq:016x}"} if type(record).__name__ == "DecisionEvent" else {}


def landed(outputs: Iterable[Output]) -> list[tuple[str, dict[str, Any]]]:
    """Outputs as a sink would read them: encoded with their table's schema and decoded again."""
    return [
        (output.schema, CODEC.decode_as(output.schema, CODEC.encode(output.schema, output.row))) for output in outputs
    ]


def rows_of(record: Record, **changes: Any) -> list[tuple[str, dict[str, Any]]]:
    """Rows that one record gives in a new run, at once or when nothing more comes. Violations are left out."""
    state, read = RunState(), incoming(record, **changes)
    outputs = process(state, read)
    closing = Report(subject_of(read.record))
    close_all(state, closing, "run_ended")
    return [item for item in landed(outputs + closing.outputs) if item[0] != "rows.violations"]


def codes_of(outputs: Iterable[Output]) -> list[str]:
    """Codes of the violations among outputs."""
    return [output.row["code"] for output in outputs if output.schema == "rows.violations"]


def run_of(run_id: str, *, length: int = 12, tenant: str = "acme") -> list[tuple[str, dict[str, Any]]]:
    """A whole run of ``length`` records, one of every type first."""
    trace_id = f"trace-{run_id}"
    models = [*samples.RECORDS[:-1]]
    records = []
    for seq in range(length - 1):
        model = models[seq] if seq < len(models) else models[2 + seq % 6]
        records.append((type(model).__name__, to_avro(model) | own_span(model, seq)))
    records.append(("RunEnded", to_avro(samples.RUN_ENDED) | {"emitted": length, "dropped": 3}))
    return [
        (
            name,
            record
            | {"tenant_id": tenant, "trace_id": trace_id, "run_id": run_id, "seq": seq, "event_id": f"{run_id}-{seq}"},
        )
        for seq, (name, record) in enumerate(records)
    ]


def raw(
    offset: int,
    value: bytes | None,
    *,
    partition: int = 0,
    key: bytes | None = b"k",
    headers: Sequence[tuple[str, bytes | None]] = (),
) -> RawRecord:
    return RawRecord(partition, offset, APPENDED + offset * 1_000_000, key, value, [*headers])


def raw_record(offset: int, name: str, record: dict[str, Any], **kwargs: Any) -> RawRecord:
    return raw(offset, CODEC.encode(name, record), **kwargs)


class PartitionWorker:
    """The decisions of a worker over one partition, without a broker."""

    def __init__(self, limits: DeadLetterSettings | None = None, prefix: str = "", core: CoreCall = JUDGING) -> None:
        self.runs = Runs()
        judge = DeadLetterLimits(limits or DeadLetterSettings())
        self.processor = BatchProcessor(CODEC, TopicNames(prefix), judge, core=core)

    def run(self, records: Iterable[RawRecord]) -> Batch:
        return self.processor.run(records, lambda _partition: self.runs)
