"""Which process is meant: a pid alone is not enough, because the kernel gives it away again."""

import os
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# How often a wait looks again. Ending a server takes 300 ms and more, so this adds nothing one could notice.
_LOOK_AGAIN_S = 0.05
_LEASH = Path(__file__).with_name("leash.py")


@dataclass(frozen=True)
class ProcessId:
    """A process, told apart from a later one with the same pid by when it started."""

    pid: int
    started: str

    @property
    def alive(self) -> bool:
        """Whether this very process still runs. A zombie does not."""
        return _started(self.pid) == self.started

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process is gone."""
        if self.alive:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def identify(pid: int) -> ProcessId | None:
    """The process that has this pid now."""
    started = _started(pid)
    return ProcessId(pid, started) if started is not None else None


def wait_gone(processes: Iterable[ProcessId], seconds: float) -> Sequence[ProcessId]:
    """Wait until all are gone, and return those that are not after ``seconds``."""
    deadline = time.monotonic() + seconds
    left = [process for process in processes if process.alive]
    while left and time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN_S)
        left = [process for process in left if process.alive]
    return left


def leashed(argv: Sequence[str]) -> list[str]:
    """Command line of a process that the kernel ends when the calling thread ends."""
    return [sys.executable, "-I", "-S", str(_LEASH), str(os.getpid()), *argv]


def _started(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    # The second field is the program's name in parentheses and may hold anything, so count from its end.
    state, *rest = stat.rpartition(")")[2].split()
    return None if state in {"Z", "X"} else f"{boot}/{rest[18]}"
