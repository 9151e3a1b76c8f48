"""A process to supervise: what to run, and where its words go."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Child:
    """One process of the stack."""

    name: str
    """Unique in the stack; what the person sees in the status."""

    argv: Sequence[str]
    """Command line."""

    log_path: Path
    """Standard output and error are appended here."""

    env: Mapping[str, str] | None = None
    """Whole environment; ``None`` inherits the supervisor's."""

    cwd: Path | None = None
    """Folder to run in; ``None`` inherits the supervisor's."""

    restart: bool = True
    """Whether it is started again when it ends by itself, whatever its exit status."""
