"""``make bench``: every ratio in one run, on a stack of its own. Exit code 1 if a goal is missed.

``make bench ARGS="sink worker"`` measures only those.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks import console, export, latency, memory, questions, recorder, sealing, sink, worker
from benchmarks.report import Result
from tachograph.deploy.stack import running_servers
from tachograph.deploy.topics import apply_topics
from tachograph.sinks.clickhouse.migrate import migrate

PARTS: Final = {
    "sink": sink.measure,
    "worker": worker.measure,
    "latency": latency.measure,
    "memory": memory.measure,
    "recorder": recorder.measure,
    "questions": questions.measure,
    "objectives": questions.measure_objectives,
    "sealing": sealing.measure,
    "console": console.measure,
    "export": export.measure,
}


def main(names: Sequence[str]) -> int:
    """Measure everything, or the parts named; print a line as soon as it is known."""
    unknown = set(names) - PARTS.keys()
    if unknown:
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="tachograph-bench-") as name, running_servers(Path(name)) as settings:
        apply_topics(settings.kafka)
        migrate(settings)
        for part in names or PARTS:
            for result in PARTS[part](settings, Path(name)):
                print(result, flush=True)
                results.append(result)
    return 0 if all(result.met for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
