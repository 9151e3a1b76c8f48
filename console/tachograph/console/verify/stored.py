"""Logs as ClickHouse holds them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tachograph.console.database import Reader
from tachograph.console.rows import Row, rows
from tachograph.schemas.errors import TachographError
from tachograph.schemas.proofs import ProofError, Tree, TreeHead, leaf_of
from tachograph.schemas.proofs.sealed import SealedRecord

_LOGS: Final = "SELECT DISTINCT log_id FROM decision_records WHERE tenant_id = {tenant:String} ORDER BY log_id"
_CHECKPOINTED: Final = "SELECT DISTINCT log_id FROM checkpoints WHERE tenant_id = {tenant:String}"
_RECORDS: Final = """
SELECT body, record_hash, signature FROM decision_records FINAL
WHERE tenant_id = {tenant:String} AND log_id = {log:String} ORDER BY log_seq
"""
_HASHES: Final = """
SELECT record_hash FROM decision_records FINAL
WHERE tenant_id = {tenant:String} AND log_id = {log:String} ORDER BY log_seq
"""
_NOTES: Final = """
SELECT note, tree_size FROM checkpoints FINAL
WHERE tenant_id = {tenant:String} AND log_id = {log:String} ORDER BY tree_size
"""
_HEADS: Final = """
SELECT note FROM log_heads FINAL WHERE tenant_id = {tenant:String} ORDER BY minute DESC LIMIT {most:UInt32}
"""
_MOST_HEADS: Final = 1440
"""Heads records that are looked at: those of a day. The last one names every log there has been."""
_NAMED: Final = """
SELECT record_id, run_id, log_id, log_seq, body, record_hash, signature FROM decision_records FINAL
WHERE tenant_id = {tenant:String} AND (record_id = {name:String} OR run_id = {name:String})
ORDER BY log_id, log_seq
"""


class NotSealedError(TachographError):
    """No such log, record or run; or no checkpoint that covers it yet."""


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A sealed record and where it stands."""

    record_id: str
    run_id: str
    log_id: str
    log_seq: int
    sealed: SealedRecord


class StoredLogs:
    """Questions about one tenant's logs."""

    def __init__(self, database: Reader, tenant_id: str) -> None:
        self._database = database
        self._tenant = tenant_id

    def names(self) -> list[str]:
        """Ids of all logs, also of those of which only checkpoints are left."""
        found = [*self._rows(_LOGS), *self._rows(_CHECKPOINTED)]
        return sorted({row["log_id"] for row in found})

    def records(self, log_id: str) -> list[SealedRecord]:
        """Every record of a log, in order."""
        return [_sealed(row) for row in self._rows(_RECORDS, log=log_id)]

    def checkpoints(self, log_id: str) -> list[str]:
        """Its signed checkpoints, smallest first."""
        return [row["note"] for row in self._rows(_NOTES, log=log_id)]

    def heads(self) -> list[str]:
        """Signed heads records of the tenant, the latest first."""
        return [row["note"] for row in self._rows(_HEADS, most=_MOST_HEADS)]

    def named(self, name: str, *, required: bool = True) -> list[StoredRecord]:
        """A record, or all records of a run. Raises NotSealedError if there is none and one is required."""
        found = [
            StoredRecord(row["record_id"], row["run_id"], row["log_id"], row["log_seq"], _sealed(row))
            for row in self._rows(_NAMED, name=name)
        ]
        if required and not found:
            raise NotSealedError(
                f"there is no sealed record of {name} for tenant {self._tenant}: is it the id of a record or a run?"
            )
        return found

    def tree(self, log_id: str) -> Tree:
        """The Merkle tree of a log, of the hashes that are stored."""
        try:
            return Tree(leaf_of(row["record_hash"]) for row in self._rows(_HASHES, log=log_id))
        except ProofError:
            raise NotSealedError(
                f"log {log_id} holds a hash that is none: `tachograph verify --log {log_id}`"
            ) from None

    def covering(self, log_id: str, seq: int) -> str:
        """The latest checkpoint, which must cover a place."""
        notes = self.checkpoints(log_id)
        if not notes or size_of(notes[-1]) <= seq:
            raise NotSealedError(f"no checkpoint of log {log_id} covers record {seq} yet: try again in a moment")
        return notes[-1]

    def _rows(self, sql: str, **values: Any) -> Sequence[Row]:
        return rows(self._database, sql, tenant=self._tenant, **values)


def size_of(note: str) -> int:
    """How many records a checkpoint counts."""
    return TreeHead.parse(note.partition("\n\n")[0] + "\n").size


def _sealed(row: Row) -> SealedRecord:
    return SealedRecord(row["body"], row["record_hash"], row["signature"])
