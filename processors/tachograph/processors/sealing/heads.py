"""From checkpoints to heads records: which tenant has something new to say. Pure."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tachograph.processors.sealing.custody import Signer, checked_signature
from tachograph.schemas.proofs.checkpoint import open_checkpoint
from tachograph.schemas.proofs.encoding import to_base64
from tachograph.schemas.proofs.errors import NoteError
from tachograph.schemas.proofs.heads import HeadOfLog, Heads, heads_origin, open_heads
from tachograph.schemas.proofs.keys import KeySet, micros
from tachograph.schemas.proofs.sealed import origin_of


class HeadsBook:
    """The latest checkpoint of every log, and what was last said of it."""

    def __init__(self, keys: Callable[[], KeySet]) -> None:
        self._keys = keys
        self._logs: dict[str, dict[str, HeadOfLog]] = {}
        self._said: dict[str, tuple[HeadOfLog, ...]] = {}

    def checkpoint(self, row: Mapping[str, Any]) -> bool:
        """Take in a row of ``checkpoints``. One that does not verify is not counted: returns whether it was."""
        origin = origin_of(row["log_id"])
        try:
            head, _ = open_checkpoint(row["note"], [key.note_key(origin) for key in self._keys().keys], origin=origin)
        except NoteError:
            return False
        logs = self._logs.setdefault(row["tenant_id"], {})
        before = logs.get(row["log_id"])
        if before is None or head.size > before.size:
            logs[row["log_id"]] = HeadOfLog(row["log_id"], head.size, head.root)
        return True

    def said(self, row: Mapping[str, Any]) -> bool:
        """Take in a row of ``log_heads``: what it says need not be said again."""
        tenant = row["tenant_id"]
        try:
            trusted = [key.note_key(heads_origin(tenant)) for key in self._keys().keys]
            heads, _ = open_heads(row["note"], trusted, tenant_id=tenant)
        except NoteError:
            return False
        self._said[tenant] = heads.logs
        return True

    def due(self, minute: datetime) -> list[Heads]:
        """Heads of every tenant whose logs have grown since it was last said."""
        found = []
        for tenant, logs in sorted(self._logs.items()):
            now = tuple(sorted(logs.values()))
            if now != self._said.get(tenant):
                found.append(Heads(tenant, minute, now))
        return found

    def published(self, heads: Heads) -> None:
        """It was said."""
        self._said[heads.tenant_id] = heads.logs


def closed_minute(now: float, every_s: int) -> datetime:
    """First moment of the last minute that is over."""
    return datetime.fromtimestamp(int(now) // every_s * every_s, UTC) - timedelta(seconds=every_s)


def sign_heads(heads: Heads, keys: KeySet, signer: Signer) -> tuple[str, str]:
    """The signed note, and the id of the key: the one that is effective at the minute."""
    key = keys.at(micros(heads.minute))
    return heads.sign([(key.note_key(heads.origin), lambda text: checked_signature(signer, key, text))]), key.key_id


def heads_row(heads: Heads, note: str, signed_by: str, anchors: list[dict[str, str]]) -> dict[str, Any]:
    """A row of ``log_heads``."""
    return {
        "tenant_id": heads.tenant_id,
        "minute": micros(heads.minute),
        "logs": [{"log_id": log.log_id, "tree_size": log.size, "root_hash": to_base64(log.root)} for log in heads.logs],
        "note": note,
        "signed_by": signed_by,
        "anchors": anchors,
    }
