"""The head of a log: all that sealing needs of the records before."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from tachograph.processors.sealing.errors import HeadError
from tachograph.schemas.proofs.chain import GENESIS, leaf_of
from tachograph.schemas.proofs.keys import KeySet
from tachograph.schemas.proofs.sealed import SealedRecord, check_record
from tachograph.schemas.proofs.tree import CompactRange


@dataclass(frozen=True, slots=True)
class LogHead:
    """Where a log stands. The next record names ``hash`` and gets place ``size``."""

    log_id: str
    size: int = 0
    hash: str = GENESIS
    sealed_at: int = 0
    """Time of the last record, microseconds since 1970: the next is not earlier, whatever the broker's clock does."""
    edge: tuple[bytes, ...] = ()
    """Right edge of the Merkle tree."""

    def root(self) -> bytes:
        """Root of the tree."""
        return CompactRange(self.size, self.edge).root()

    def after(self, record_hash: str, sealed_at: int) -> "LogHead":
        """The head with one more record."""
        edge = CompactRange(self.size, self.edge)
        edge.append(leaf_of(record_hash))
        return LogHead(self.log_id, edge.size, record_hash, sealed_at, edge.edge)


def log_id(tenant_id: str, partition: int) -> str:
    """Name of the log of a tenant's records in a partition, fit for a checkpoint's first line."""
    return f"{quote(tenant_id, safe='')}/{partition}"


def recover(log: str, records: Iterable[SealedRecord], keys: KeySet) -> LogHead:
    """The head after records that were read back. Identical repeats are passed over; anything else unsound stops."""
    head = LogHead(log)
    for record in records:
        if record.record_hash == head.hash:
            continue  # a zombie wrote the same bytes again
        found = check_record(record, keys)
        if found.problem is not None:
            raise HeadError(f"record {head.size} of log {log} does not verify ({found.problem}): do not seal onto it")
        if (found.log_id, found.log_seq, found.prev_hash) != (
            log,
            head.size,
            head.hash,
        ) or found.sealed_at < head.sealed_at:
            raise HeadError(f"log {log} is forked or has a gap at {head.size}: do not seal onto it")
        head = head.after(record.record_hash, found.sealed_at)
    return head
