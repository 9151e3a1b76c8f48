"""Looking at a stack, and stopping it, from another process."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tachograph.deploy.errors import StopTimeout
from tachograph.deploy.ports import Ports
from tachograph.deploy.process import ProcessId, wait_gone
from tachograph.deploy.state import StateFolder

# The supervisor needs at most ten seconds; the rest is for a machine under load.
DOWN_WITHIN_S = 15.0


@dataclass(frozen=True)
class PartStatus:
    """One process of the stack."""

    name: str
    pid: int | None
    """``None``: it does not run."""
    ports: Sequence[int]
    """Where it listens, if it does."""
    log: Path

    @property
    def running(self) -> bool:
        """Whether it runs now."""
        return self.pid is not None


@dataclass(frozen=True)
class StackStatus:
    """A stack as it is now."""

    home: Path
    supervisor: PartStatus
    parts: Sequence[PartStatus]
    started_at: str | None
    """When it was last started; ``None`` if never."""

    @property
    def running(self) -> bool:
        """Whether a supervisor owns the folder. Single parts may still be waiting for their restart."""
        return self.supervisor.running


def status(home: Path) -> StackStatus:
    """What runs from this folder. Changes nothing."""
    state = StateFolder(home)
    record = state.read()
    if record is None:
        return StackStatus(state.home, PartStatus("supervisor", None, (), state.log("supervisor")), (), None)
    parts = [
        PartStatus(name, _running_pid(process), _ports(name, record.ports), state.log(name))
        for name, process in record.processes.items()
    ]
    supervisor = PartStatus("supervisor", _running_pid(record.supervisor), (), state.log("supervisor"))
    return StackStatus(state.home, supervisor, parts, record.started_at)


def down(home: Path, within_s: float = DOWN_WITHIN_S) -> bool:
    """Stop the stack of this folder and wait until all of it is gone. False if nothing was running."""
    record = StateFolder(home).read()
    if record is None:
        return False
    processes = [each for each in (record.supervisor, *record.processes.values()) if each is not None and each.alive]
    if not processes:
        return False
    # The supervisor stops its children in order. Without one there are none: the kernel ended them with it.
    processes[0].signal(signal.SIGTERM)
    if left := wait_gone(processes, within_s):
        pids = " ".join(str(process.pid) for process in left)
        raise StopTimeout(f"these processes did not end within {within_s:.0f} s: {pids}. End them with: kill -9 {pids}")
    return True


def _running_pid(process: ProcessId | None) -> int | None:
    return process.pid if process is not None and process.alive else None


def _ports(name: str, ports: Ports) -> Sequence[int]:
    if name == "kafka":
        return (ports.kafka_port, ports.controller_port)
    if name == "clickhouse":
        return (ports.clickhouse_http_port, ports.clickhouse_tcp_port)
    return ()
