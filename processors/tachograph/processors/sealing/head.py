"""The head of a log: all that sealing needs of the records before."""

from dataclasses import dataclass
from urllib.parse import quote

from tachograph.schemas.proofs.chain import GENESIS, PREFIX, digest
from tachograph.schemas.proofs.tree import CompactRange, grown, leaf_hash


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
        return self.after_digest(digest(record_hash), sealed_at)

    def after_digest(self, record_digest: bytes, sealed_at: int) -> "LogHead":
        """The same, from the 32 bytes of the record's hash."""
        size, edge = grown(self.size, self.edge, leaf_hash(record_digest))
        return LogHead(self.log_id, size, PREFIX + record_digest.hex(), sealed_at, edge)


def log_id(tenant_id: str, partition: int) -> str:
    """Name of the log of a tenant's records in a partition, fit for a checkpoint's first line."""
    return f"{quote(tenant_id, safe='')}/{partition}"
