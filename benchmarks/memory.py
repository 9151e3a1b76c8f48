"""Memory of 10,000 open runs in a worker, in a process that does nothing else."""

import gc
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.schemas import samples

from benchmarks.report import Figure, Result
from tachograph.processors.core import Incoming, process
from tachograph.processors.digests import digest
from tachograph.processors.runs import Runs
from tachograph.processors.state import RunState
from tachograph.schemas.settings import Settings
from tachograph.schemas.wire import Codec, to_avro

RUNS: Final = 10_000
GOAL_MB: Final = 100.0
"""A worker with a hundred thousand open runs then fits into a gigabyte."""
_APPENDED: Final = 1_772_600_767_000_000
_OPENING: Final = samples.RECORDS[:10]
"""What a run has emitted by its middle: it is started and not ended, with steps, calls, decisions and a manifest."""


def measure(_settings: Settings, _folder: Path) -> list[Result]:
    """Fill the runs in a process of their own, so that nothing else grows meanwhile."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.memory"], capture_output=True, text=True, check=True)
    return [Figure(f"memory of {RUNS:,} open runs", float(done.stdout), GOAL_MB, "MB", at_most=True)]


def fill(runs: Runs, count: int, first: int = 0) -> None:
    """Put ``count`` runs through the core, each as far as its middle."""
    codec = Codec()
    templates = [(type(item).__name__, to_avro(item)) for item in _OPENING]
    offset = first * len(templates)
    for number in range(first, first + count):
        run_id, state = f"run-{number:032}", RunState()
        for seq, (name, template) in enumerate(templates):
            # Over the wire and back: strings that a state keeps are then its own, as they are in a worker.
            record = template | {"event_id": f"{run_id}-{seq}", "run_id": run_id, "trace_id": run_id, "seq": seq}
            value = codec.encode(name, record)
            decoded = codec.decode(value).record
            process(state, Incoming(name, decoded, 0, offset, _APPENDED + offset, digest(value)))
            offset += 1
        runs.put(f"bench/run/{run_id}".encode(), state)


def resident_mb() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1_000_000


def main() -> None:
    """Print by how many megabytes the process grew."""
    runs = Runs()
    fill(runs, 200)  # what is made once, whatever the number of runs
    gc.collect()
    before = resident_mb()
    fill(runs, RUNS, first=200)
    gc.collect()
    print(resident_mb() - before)


if __name__ == "__main__":
    main()
