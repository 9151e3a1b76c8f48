"""The state folder: what lies where, and who may read it.

::

    .tachograph/
    ├── stack.json        ports, processes, versions; how `status` and `down` find the stack
    ├── stack.env         addresses and passwords, for every other command
    ├── up.lock           held by the supervisor as long as it lives
    ├── kafka/            VERSION, server.properties, data
    ├── clickhouse/       VERSION, config.xml, users.xml, passwords.json, data
    └── logs/             one file per process

Everything is for the owner alone: folders 0700, files 0600.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tachograph.deploy.errors import StateDamaged
from tachograph.deploy.ports import Ports
from tachograph.deploy.process import ProcessId


@dataclass(frozen=True)
class StackRecord:
    """What ``stack.json`` holds."""

    ports: Ports
    versions: Mapping[str, str]
    started_at: str
    supervisor: ProcessId | None = None
    processes: Mapping[str, ProcessId | None] = field(default_factory=dict)
    """Every part by name; ``None`` for one that is stopped, or waits for its restart."""

    def stopped(self) -> "StackRecord":
        """The same stack with nothing running. Ports are remembered for the next start."""
        return replace(self, supervisor=None, processes=dict.fromkeys(self.processes))


class StateFolder:
    """Paths of one stack, and its two files."""

    def __init__(self, home: Path) -> None:
        self.home = home.absolute()
        self.stack_json = self.home / "stack.json"
        self.stack_env = self.home / "stack.env"
        self.lock = self.home / "up.lock"
        self.kafka = self.home / "kafka"
        self.clickhouse = self.home / "clickhouse"
        self.logs = self.home / "logs"

    def create(self) -> None:
        """Make the folders, for the owner alone."""
        for folder in (self.home, self.kafka, self.clickhouse, self.logs):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def log(self, name: str) -> Path:
        """Log of one process."""
        return self.logs / f"{name}.log"

    def read(self) -> StackRecord | None:
        """The last stack of this folder, or ``None`` if there never was one."""
        try:
            return _record(json.loads(self.stack_json.read_text()))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise StateDamaged(
                f"{self.stack_json} is not readable as written. If no stack runs from this folder, delete that file "
                "and start again: data and passwords are elsewhere."
            ) from None

    def write(self, record: StackRecord) -> None:
        """Remember the stack."""
        write_private(self.stack_json, json.dumps(asdict(record), indent=2) + "\n")

    def write_env(self, values: Mapping[str, str]) -> None:
        """Write the settings by which every other command finds the stack."""
        lines = [
            "# Written by `tachograph up`. Holds passwords: keep it private.",
            *(f"{k}={v}" for k, v in values.items()),
        ]
        write_private(self.stack_env, "\n".join(lines) + "\n")


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step, readable by its owner alone at every moment."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # mkstemp makes it 0600
    try:
        with os.fdopen(handle, "w") as stream:
            stream.write(text)
        os.replace(name, path)  # noqa: PTH105  # the atomic rename is the point
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def _record(raw: dict[str, Any]) -> StackRecord:
    return StackRecord(
        ports=Ports(**raw["ports"]),
        versions=dict(raw["versions"]),
        started_at=str(raw["started_at"]),
        supervisor=_process(raw["supervisor"]),
        processes={str(name): _process(process) for name, process in raw["processes"].items()},
    )


def _process(raw: dict[str, Any] | None) -> ProcessId | None:
    return ProcessId(pid=int(raw["pid"]), started=str(raw["started"])) if raw is not None else None
