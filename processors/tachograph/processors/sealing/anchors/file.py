"""A file that only grows. On a disk of another machine, or one that can be written once, it is a witness."""

import hashlib
import json
import os
from pathlib import Path

from tachograph.processors.sealing.anchors.anchor import Receipt
from tachograph.processors.sealing.errors import AnchorError
from tachograph.schemas.proofs.heads import Heads


class FileAnchor:
    """Appends a line for each note, and returns when it is on the disk."""

    kind = "file"

    def __init__(self, path: Path) -> None:
        self._path = path

    def anchor(self, heads: Heads, note: str) -> Receipt:
        """Append one note. A line that a power cut left unfinished is closed first, so that it spoils no other."""
        line = json.dumps(
            {
                "tenant_id": heads.tenant_id,
                "minute": heads.minute.isoformat(),
                "sha256": hashlib.sha256(note.encode()).hexdigest(),
                "note": note,
            }
        )
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            with os.fdopen(os.open(self._path, flags, 0o600), "r+b") as file:
                end = file.seek(0, os.SEEK_END)
                if end:
                    file.seek(end - 1)
                    line = line if file.read(1) == b"\n" else "\n" + line
                file.write(line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise AnchorError(f"the file of heads cannot be written ({error.strerror}): {self._path}") from None
        return Receipt(self.kind, self._path.name)
