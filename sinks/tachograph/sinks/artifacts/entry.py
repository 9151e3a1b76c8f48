"""What the store knows of an artifact without opening it: the entry, which outlives the bytes as their tombstone."""

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from tachograph.schemas.enums import RetentionClass
from tachograph.schemas.settings import ArtifactSettings
from tachograph.sinks.artifacts.errors import ArtifactDamagedError

__all__ = ["Content", "Entry", "State", "from_micros", "is_due", "micros"]


class State(StrEnum):
    """What became of the bytes."""

    STORED = "stored"
    EXPIRING = "expiring"
    """Retention has decided; the removal is under way and is finished by whoever comes next."""
    EXPIRED = "expired"
    ERASED = "erased"


class Content(StrEnum):
    """What is found when an artifact is opened."""

    PLAIN = "plain"
    CAPTURE = "capture"
    """Still encrypted with the capture key of the agent that recorded it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One artifact. Times are microseconds since 1970."""

    artifact_id: str
    tenant_id: str
    subject_name: str
    """Keyed hash of the subject: whose data key it is sealed with."""
    path: str
    hash: str
    """SHA-256 of the sealed bytes: anyone can check them, without a key."""
    size_bytes: int
    """Of the sealed bytes."""
    created_at: int
    retention: RetentionClass
    content: Content
    record: dict[str, Any] = field(default_factory=dict)
    """What the writer wants back when the bytes go: ids, never content."""
    state: State = State.STORED
    deleted_at: int | None = None
    reason: str = ""

    def to_bytes(self) -> bytes:
        """As it lies in the store."""
        return json.dumps(asdict(self), sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, value: bytes) -> "Entry":
        """Read it back. Raises ArtifactDamagedError."""
        try:
            read = json.loads(value)
            return cls(
                **read
                | {
                    "retention": RetentionClass(read["retention"]),
                    "content": Content(read["content"]),
                    "state": State(read["state"]),
                }
            )
        except (ValueError, TypeError, KeyError) as error:
            raise ArtifactDamagedError(
                f"an entry of the artifact store cannot be read ({type(error).__name__}); restore it from a backup"
            ) from None


def is_due(entry: Entry, now: int, settings: ArtifactSettings) -> bool:
    """Whether retention asks for the removal of the bytes now."""
    days = {
        RetentionClass.SHORT: settings.short_days,
        RetentionClass.STANDARD: settings.standard_days,
        RetentionClass.PROTECTED: settings.protected_days,
    }[entry.retention]
    if entry.state is State.EXPIRING:
        return True
    return entry.state is State.STORED and from_micros(now) - from_micros(entry.created_at) >= timedelta(days=days)


def micros(moment: datetime) -> int:
    """Microseconds since 1970."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def from_micros(value: int) -> datetime:
    """Moment of a count of microseconds."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
