"""Events of a partition as the broker gives them: a run that refunds, and the messages around its proposal."""

from typing import Any

import orjson

from tachograph.processors.catalog.catalog import Catalog
from tachograph.processors.deadletters import Message, RawRecord
from tachograph.processors.names import TopicNames
from tachograph.processors.sealing.partition import Made, PartitionSealer, Sealing, source_of
from tachograph.schemas.proofs.keys import KeySet
from tachograph.schemas.proofs.sealed import SealedRecord
from tachograph.schemas.wire import Codec
from tachograph.schemas.wire.convert import to_avro
from tests.processors.decisions.proposals import CATALOG, NOW, REFS, TRACE, proposal
from tests.processors.sealing.logs import KEYS, SIGNER
from tests.schemas import samples

CODEC = Codec()
HOUR = 3_600_000_000


def sealing(keys: KeySet = KEYS, catalog: Catalog = CATALOG) -> Sealing:
    """What the sealers of a test share."""
    return Sealing(catalog, keys, SIGNER, CODEC, TopicNames(), TopicNames(), 24 * HOUR)


class Partition:
    """Messages of one partition, a second apart."""

    def __init__(self) -> None:
        self.messages: list[RawRecord] = []

    def add(self, name: str, record: dict[str, Any], *, after: int = 1_000_000) -> RawRecord:
        """Append one record."""
        last = self.messages[-1].append_time if self.messages else NOW
        raw = RawRecord(0, len(self.messages), last + after, b"", CODEC.encode(name, record), [])
        self.messages.append(raw)
        return raw

    def run(self, run_id: str = "run_1", tenant_id: str = "acme", trace_id: str = TRACE) -> None:
        """What a refund stands on: two tool calls and an item of the context."""
        own = {"run_id": run_id, "tenant_id": tenant_id, "trace_id": trace_id}
        self.add("RunStarted", sample("RunStarted") | own)
        for reference in REFS[1:]:
            _, tool, call = reference.split(":")
            leg = {"tool_name": tool, "tool_use_id": call, "leg": "post", "skipped": False, "error_type": None}
            self.add("ToolCallRecord", sample("ToolCallRecord") | own | leg)
        manifest = sample("ContextManifest") | own
        manifest["included"] = [manifest["included"][0] | {"source_ref": REFS[0]}]
        self.add("ContextManifest", manifest)

    def propose(self, **changes: Any) -> RawRecord:
        """A refund; ``outputs`` may be given as the text that is on the wire."""
        made = proposal(**changes)
        if not isinstance(made["outputs"], str):
            made["outputs"] = orjson.dumps(made["outputs"]).decode()
        return self.add("RecordProposal", made)

    def end(self, run_id: str = "run_1", tenant_id: str = "acme", trace_id: str = TRACE) -> None:
        """The run is over."""
        self.add("RunEnded", sample("RunEnded") | {"run_id": run_id, "tenant_id": tenant_id, "trace_id": trace_id})


def sample(name: str) -> dict[str, Any]:
    """A record of a type, as the codec gives it."""
    found: dict[str, Any] = to_avro(next(item for item in samples.RECORDS if type(item).__name__ == name))
    return found


def sealer(with_: Sealing | None = None) -> PartitionSealer:
    """A sealer of an empty log."""
    return PartitionSealer(0, with_ or sealing())


def rows(made: Made | list[Message]) -> list[dict[str, Any]]:
    """Sealed rows, decoded."""
    messages = made.records if isinstance(made, Made) else made
    return [CODEC.decode_as("rows.decision_records", message.value) for message in messages]


def codes(row: dict[str, Any]) -> list[str]:
    """What blocked a record."""
    return [verdict["code"] for verdict in row["verdicts"] if not verdict["passed"]]


def read_back(target: PartitionSealer, messages: list[Message]) -> None:
    """What recovery does with the output topic."""
    for message in messages:
        row = CODEC.decode_as("rows.decision_records", message.value)
        source = source_of(message.headers)
        found = target.logs.take(SealedRecord(row["body"], row["record_hash"], row["signature"]), source)
        if found is not None:
            target.recovered(source, found.content)
