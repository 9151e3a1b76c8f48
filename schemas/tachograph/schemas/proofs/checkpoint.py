"""C2SP checkpoints: a signed note whose text is a log's name, size and root. https://c2sp.org/tlog-checkpoint."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tachograph.schemas.proofs.encoding import from_base64, to_base64
from tachograph.schemas.proofs.errors import NoteError
from tachograph.schemas.proofs.note import NoteKey, OpenedNote, Sign, open_note, sign_note
from tachograph.schemas.proofs.tree import HASH_BYTES

_LINES: Final = 3
_MAX_DIGITS: Final = 20


@dataclass(frozen=True, slots=True)
class TreeHead:
    """What a checkpoint says: this log has this many records, and this is their root."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """Text of the note."""
        if not self.origin or "\n" in self.origin:
            raise NoteError("the origin of a checkpoint is one line")
        if self.size < 0 or len(self.root) != HASH_BYTES:
            raise NoteError("a checkpoint has a size from 0 and a root of 32 bytes")
        return f"{self.origin}\n{self.size}\n{to_base64(self.root)}\n"

    @classmethod
    def parse(cls, text: str) -> "TreeHead":
        """Read the text of a note. Extension lines are allowed, as the specification has it, and mean nothing."""
        lines = text.removesuffix("\n").split("\n")
        if not text.endswith("\n") or len(lines) < _LINES or not all(lines):
            raise NoteError("a checkpoint has three lines or more and none is empty")
        origin, size, root = lines[:_LINES]
        if not (size.isascii() and size.isdigit()) or (size != "0" and size[0] == "0") or len(size) > _MAX_DIGITS:
            raise NoteError("the size of a checkpoint is a decimal number without leading zeros")
        decoded = from_base64(root)
        if len(decoded) != HASH_BYTES:
            raise NoteError("the root of a checkpoint has 32 bytes")
        return cls(origin, int(size), decoded)


def sign_checkpoint(head: TreeHead, signers: Iterable[tuple[NoteKey, Sign]]) -> str:
    """The checkpoint as a signed note."""
    return sign_note(head.text(), signers)


def open_checkpoint(note: str | bytes, keys: Iterable[NoteKey], *, origin: str) -> tuple[TreeHead, OpenedNote]:
    """Read a checkpoint of one log, signed by a trusted key. That of another log is refused, however well signed."""
    opened = open_note(note, keys)
    head = TreeHead.parse(opened.text)
    if head.origin != origin:
        raise NoteError("the checkpoint is one of another log")
    return head, opened
