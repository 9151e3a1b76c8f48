"""From what the output topics hold to sealers that may go on. Nothing is appended to a log that was not read back."""

import logging
from dataclasses import dataclass

from tachograph.processors.sealing.errors import HeadError
from tachograph.processors.sealing.logs import Logs
from tachograph.processors.sealing.partition import PartitionSealer, Sealing, source_of
from tachograph.processors.sealing.reader import RangeReader
from tachograph.schemas.errors import WireError
from tachograph.schemas.proofs.sealed import SealedRecord
from tachograph.schemas.topics import CHECKPOINTS, RECORDS

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Lane:
    """A partition on its way: its sealer, and how far its output topic was read."""

    sealer: PartitionSealer
    read_to: int
    """Every record before this offset of the output topic was verified, or is ours."""


class Recovery:
    """Reads and verifies what was sealed before, and what somebody else seals meanwhile."""

    def __init__(self, reader: RangeReader, sealing: Sealing) -> None:
        self._reader = reader
        self._with = sealing
        self._records = sealing.outputs.output(RECORDS.name)
        self._checkpoints = sealing.outputs.output(CHECKPOINTS.name)

    def open(self, partition: int, done: int) -> Lane:
        """A sealer with the heads of its logs. ``done`` is where the input was dealt with to."""
        logs = Logs(lambda: self._with.keys)
        logs.expect(self._last_checkpoints(partition))
        lane = Lane(PartitionSealer(partition, self._with, logs, done), 0)
        low, _ = self._reader.bounds(self._records, partition)
        if low > 0:
            raise HeadError(f"the first {low} messages of {self._records}/{partition} are gone: restore them")
        self.catch_up(lane)
        logs.agree()
        log.info(
            "sealer: partition %d has %d logs, sealed up to %d", partition, len(logs.heads), lane.sealer.logs.sealed_to
        )
        return lane

    def end(self, partition: int) -> int:
        """Offset after the last record of the output topic."""
        return self._reader.bounds(self._records, partition)[1]

    def catch_up(self, lane: Lane) -> int:
        """Verify what the output topic holds beyond what is known, and return how many records were new."""
        _, end = self._reader.bounds(self._records, lane.sealer.partition)
        new = 0
        for message in self._reader.messages(self._records, lane.sealer.partition, lane.read_to, end):
            try:
                row = self._with.codec.decode_as("rows.decision_records", message.value())
            except WireError:
                raise HeadError(
                    f"{self._records}/{lane.sealer.partition} holds something that is no record at "
                    f"{message.offset()}: find out who wrote it; do not seal onto it"
                ) from None
            source = source_of(message.headers())  # type: ignore[arg-type]  # a list, as we use it
            sealed = SealedRecord(row["body"], row["record_hash"], row["signature"])
            found = lane.sealer.logs.take(sealed, source)
            if found is not None:
                lane.sealer.recovered(source, found.content)
                new += 1
        lane.read_to = end
        return new

    def _last_checkpoints(self, partition: int) -> dict[str, str]:
        low, end = self._reader.bounds(self._checkpoints, partition)
        largest: dict[str, tuple[int, str]] = {}
        for message in self._reader.messages(self._checkpoints, partition, low, end):
            try:
                row = self._with.codec.decode_as("rows.checkpoints", message.value())
            except WireError:
                raise HeadError(f"{self._checkpoints}/{partition} holds something that is no checkpoint") from None
            if row["tree_size"] >= largest.get(row["log_id"], (0, ""))[0]:
                largest[row["log_id"]] = row["tree_size"], row["note"]
        return {name: note for name, (_, note) in largest.items()}
