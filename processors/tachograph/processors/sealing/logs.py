"""The logs of one partition, as its output topic holds them: heads, hashes so far, and how far the input is sealed."""

from collections.abc import Callable, Mapping
from typing import Final

from tachograph.processors.sealing.errors import HeadError
from tachograph.processors.sealing.head import LogHead
from tachograph.schemas.proofs.chain import digest
from tachograph.schemas.proofs.checkpoint import TreeHead, open_checkpoint
from tachograph.schemas.proofs.errors import NoteError
from tachograph.schemas.proofs.keys import KeySet
from tachograph.schemas.proofs.sealed import Checked, SealedRecord, check_record, origin_of

NOTHING: Final = -1
"""Offset before the first."""

_HASH_BYTES: Final = 32


class Logs:
    """Every log of a partition. Keeps 32 bytes a record, so that any repeat can be told from a fork."""

    def __init__(self, keys: Callable[[], KeySet]) -> None:
        self._keys = keys
        """Asked each time: a set may grow while the logs are held."""
        self._heads: dict[str, LogHead] = {}
        self._hashes: dict[str, bytearray] = {}
        self._sources: dict[str, int] = {}
        self._signed: dict[str, TreeHead] = {}
        self.sealed_to = NOTHING
        """Highest input offset whose proposal is sealed."""

    @property
    def heads(self) -> Mapping[str, LogHead]:
        """Head of every log that has a record."""
        return self._heads

    def head(self, log: str) -> LogHead:
        """Where a log stands; a new one stands at nothing."""
        return self._heads.get(log) or LogHead(log)

    def source(self, log: str) -> int:
        """Input offset of the last record of a log."""
        return self._sources.get(log, NOTHING)

    def appended(self, head: LogHead, source: int) -> None:
        """A record is the head now, where a signed checkpoint does not say otherwise."""
        signed = self._signed.get(head.log_id)
        if signed is not None and signed.size == head.size and signed.root != head.root():
            raise HeadError(f"the records of log {head.log_id} are not those that its checkpoint was signed over")
        self._heads[head.log_id] = head
        self._hashes.setdefault(head.log_id, bytearray()).extend(digest(head.hash))
        self._sources[head.log_id] = source
        self.sealed_to = max(self.sealed_to, source)

    def take(self, record: SealedRecord, source: int) -> Checked | None:
        """Verify a record that was read back and move the head to it; None if it is an exact repeat.

        Anything else that does not continue its log is a fork, a gap or a forgery, and a HeadError.
        """
        found = check_record(record, self._keys())
        if found.problem is not None:
            raise HeadError(
                f"a record of the output topic does not verify ({found.problem}), after {self.sealed_to} of the "
                "input: do not seal onto it"
            )
        head = self.head(found.log_id)
        if self._holds(found.log_id, found.log_seq, record.record_hash):
            return None
        if (found.log_seq, found.prev_hash) != (head.size, head.hash) or found.sealed_at < head.sealed_at:
            raise HeadError(f"log {found.log_id} is forked or has a gap at {head.size}: do not seal onto it")
        self.appended(head.after(record.record_hash, found.sealed_at), source)
        return found

    def expect(self, checkpoints: Mapping[str, str]) -> None:
        """Open the last signed checkpoint of each log, before its records are read."""
        self._signed = {log: self._opened(log, note) for log, note in checkpoints.items()}

    def agree(self) -> None:
        """All records are read: no checkpoint may count more than there are."""
        for log, signed in self._signed.items():
            size = self.head(log).size
            if signed.size > size:
                raise HeadError(
                    f"a signed checkpoint of log {log} counts {signed.size} records and the topic holds {size}: "
                    "records were lost or cut off; sealing on would fork the log"
                )

    def _opened(self, log: str, note: str) -> TreeHead:
        origin = origin_of(log)
        try:
            head, _ = open_checkpoint(note, [key.note_key(origin) for key in self._keys().keys], origin=origin)
        except NoteError as error:
            raise HeadError(f"the last checkpoint of log {log} does not verify ({error})") from None
        return head

    def _holds(self, log: str, seq: int, record_hash: str) -> bool:
        start = seq * _HASH_BYTES
        held = self._hashes.get(log, b"")
        return 0 <= start < len(held) and held[start : start + _HASH_BYTES] == digest(record_hash)


def recover(log: str, records: "list[SealedRecord] | tuple[SealedRecord, ...]", keys: KeySet) -> LogHead:
    """The head of one log after records that were read back."""
    logs = Logs(lambda: keys)
    for place, record in enumerate(records):
        logs.take(record, place)
    if set(logs.heads) - {log}:
        raise HeadError(f"a record of another log stands in {log}: do not seal onto it")
    return logs.head(log)
