"""What an auditor brings from elsewhere: checkpoints, heads records, or a file of them."""

import json
from collections.abc import Iterable
from urllib.parse import unquote

from tachograph.schemas.proofs import NoteError, TreeHead, open_checkpoint
from tachograph.schemas.proofs.heads import open_heads
from tachograph.schemas.proofs.keys import KeySet

_PREFIX = "tachograph/"
_HEADS = "/heads"


class Anchors:
    """Heads of logs that do not come from the evidence itself."""

    def __init__(self, texts: Iterable[str], keys: KeySet) -> None:
        self.heads: dict[str, list[TreeHead | None]] = {}
        """By log; None for something that claims to be of that log and does not hold."""
        for note in (note for text in texts for note in _notes(text)):
            self._take(note, keys)

    def of(self, log_id: str) -> list[TreeHead | None]:
        """Those of one log."""
        return self.heads.get(log_id, [])

    def _take(self, note: str, keys: KeySet) -> None:
        origin = note.partition("\n")[0]
        name = origin.removeprefix(_PREFIX)
        signers = [key.note_key(origin) for key in keys.keys] if _is_name(origin) else []
        try:
            if origin.endswith(_HEADS):
                heads, _ = open_heads(note, signers, tenant_id=unquote(name.removesuffix(_HEADS)))
                for log in heads.logs:
                    self.heads.setdefault(log.log_id, []).append(TreeHead(_PREFIX + log.log_id, log.size, log.root))
            else:
                self.heads.setdefault(name, []).append(open_checkpoint(note, signers, origin=origin)[0])
        except NoteError:
            self.heads.setdefault(name, []).append(None)


def _is_name(origin: str) -> bool:
    return bool(origin) and "+" not in origin and not any(char.isspace() or char < " " for char in origin)


def _notes(text: str) -> list[str]:
    """Notes of an anchor's file: the file itself, or one on each line."""
    return [json.loads(line)["note"] for line in text.splitlines() if line] if text.startswith("{") else [text]
