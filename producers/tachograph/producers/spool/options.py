from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tachograph.schemas.errors import ConfigError

Durability = Literal["memory", "process", "disk"]
WhenFull = Literal["block", "drop", "raise"]

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolOptions:
    """How messages are kept until the broker has them. Times are in seconds."""

    folder: Path = Path(".tachograph/spool")
    """Where segments are kept. Several processes may share it; it must be on a local file system (locks, page cache).
    Made if missing, readable by its owner only. Not used at level ``memory``."""

    durability: Durability = "process"
    """What a message survives once ``publish`` has returned: ``memory`` nothing, ``process`` the death of the process
    (the bytes are in the kernel's page cache), ``disk`` loss of power (fdatasync, shared by concurrent callers).
    If the folder is unusable at the start, ``process`` falls back to ``memory`` for this process, says so once in the
    log and in ``stats().degraded``; ``disk`` never falls back: every ``publish`` raises SpoolUnavailable."""

    max_bytes: int = 256 * MIB
    """Most bytes of this process that may wait for the broker. Files may take up to one segment per topic more."""

    when_full: WhenFull = "block"
    """``block``: wait for room up to ``block_timeout``, then drop; after one wait in vain, drop at once until the
    broker acknowledges something again, so that an outage slows the agent once and not at every record.
    ``drop``: drop at once. ``raise``: as ``drop``, with ``Dropped.for_agent`` set: the agent itself shall stop."""

    block_timeout: float = 1.0
    """Longest wait of one ``publish`` under ``block``."""

    segment_bytes: int = 8 * MIB
    """A segment is closed at about this size. Space is freed a segment at a time."""

    max_message_bytes: int = 1_000_000
    """Largest message (key, headers and value together). Keep it under the broker's ``message.max.bytes``, which is
    1,048,588 unless changed."""

    linger: float = 0.02
    """How long the sender lets messages gather before it sends. Bounds latency from below and keeps the sender from
    competing with the agent for the interpreter at every message."""

    window: int = 10_000
    """Most messages sent and not yet acknowledged, per topic. Also the most that are uncertain after a crash."""

    settle: float = 1.0
    """Wait between taking over a dead process's spool (or losing our own producer) and asking Kafka what arrived:
    what a dead process's kernel had already sent must have reached the broker's log."""

    adopt_interval: float = 30.0
    """How often a running process looks for spools of dead ones. It also looks when it starts."""

    exit_timeout: float = 2.0
    """How long the interpreter's exit waits for the broker if nobody called ``close``."""

    def __post_init__(self) -> None:
        if self.durability not in {"memory", "process", "disk"}:
            raise ConfigError("durability of the spool must be memory, process or disk")
        if self.when_full not in {"block", "drop", "raise"}:
            raise ConfigError("when_full of the spool must be block, drop or raise")
        for name in ("max_bytes", "segment_bytes", "max_message_bytes", "window"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} of the spool must be at least 1")
        for name in ("block_timeout", "linger", "settle", "adopt_interval", "exit_timeout"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} of the spool must not be negative")
