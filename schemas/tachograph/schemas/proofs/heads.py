"""The heads record: every log of a tenant and how far it has come, signed once a minute.

A checkpoint speaks for one log. Who hides a whole log, or shows one auditor fewer logs than another, is found out by
this. Its text is that of a C2SP checkpoint over the logs themselves, so that whatever witnesses checkpoints can witness
it: origin, number of logs, Merkle root over the lines below; then the minute, and a line for each log, in order.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from tachograph.schemas.proofs.encoding import from_base64, to_base64
from tachograph.schemas.proofs.errors import NoteError
from tachograph.schemas.proofs.note import NoteKey, OpenedNote, Sign, open_note, sign_note
from tachograph.schemas.proofs.tree import HASH_BYTES, CompactRange, leaf_hash

_LINE: Final = re.compile(r"log (\S+) (0|[1-9]\d{0,19}) (\S+)")
_MINUTE: Final = re.compile(r"minute (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")
_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"
_FIRST_LOG: Final = 4


@dataclass(frozen=True, slots=True, order=True)
class HeadOfLog:
    """How far one log has come."""

    log_id: str
    size: int
    root: bytes

    def line(self) -> str:
        """Its line in the note."""
        return f"log {self.log_id} {self.size} {to_base64(self.root)}"


@dataclass(frozen=True, slots=True)
class Heads:
    """All logs of a tenant at the end of a minute."""

    tenant_id: str
    minute: datetime
    """Its first moment, in UTC."""
    logs: tuple[HeadOfLog, ...]
    """By id, in order."""

    @property
    def origin(self) -> str:
        """First line, and the name under which it is signed."""
        return heads_origin(self.tenant_id)

    def root(self) -> bytes:
        """Merkle root over the lines of the logs."""
        tree = CompactRange()
        for log in self.logs:
            tree.append(leaf_hash(log.line().encode()))
        return tree.root()

    def text(self) -> str:
        """Text of the note."""
        if not self.logs or list(self.logs) != sorted(self.logs):
            raise NoteError("a heads record has logs, in the order of their ids")
        lines = [
            self.origin,
            str(len(self.logs)),
            to_base64(self.root()),
            f"minute {self.minute.astimezone(UTC).strftime(_FORMAT)}",
            *(log.line() for log in self.logs),
        ]
        return "\n".join(lines) + "\n"

    def sign(self, signers: Iterable[tuple[NoteKey, Sign]]) -> str:
        """The record as a signed note."""
        return sign_note(self.text(), signers)


def heads_origin(tenant_id: str) -> str:
    """Name under which the heads of a tenant are signed. No log has it: those end with a number."""
    return f"tachograph/{quote(tenant_id, safe='')}/heads"


def open_heads(note: str | bytes, keys: Iterable[NoteKey], *, tenant_id: str) -> tuple[Heads, OpenedNote]:
    """Read a heads record of a tenant that a trusted key signed; a `NoteError` says what is wrong with it."""
    opened = open_note(note, keys)
    heads = _parsed(opened.text, tenant_id)
    if heads.text() != opened.text:
        raise NoteError("a heads record whose root is not that of its lines, or one of another tenant")
    return heads, opened


def _parsed(text: str, tenant_id: str) -> Heads:
    lines = text.removesuffix("\n").split("\n")
    minute = _MINUTE.fullmatch(lines[_FIRST_LOG - 1]) if len(lines) > _FIRST_LOG else None
    if minute is None:
        raise NoteError("a heads record has a minute and at least one log")
    logs = []
    for line in lines[_FIRST_LOG:]:
        found = _LINE.fullmatch(line)
        root = b"" if found is None else from_base64(found[3])
        if found is None or len(root) != HASH_BYTES:
            raise NoteError("a line of a heads record names no log")
        logs.append(HeadOfLog(found[1], int(found[2]), root))
    return Heads(tenant_id, datetime.strptime(minute[1], _FORMAT).replace(tzinfo=UTC), tuple(logs))
