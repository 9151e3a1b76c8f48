"""``make bench``: every ratio in one run, on a stack of its own. Exit code 1 if a goal is missed."""

import sys
import tempfile
from pathlib import Path

from benchmarks import sink, worker
from benchmarks.report import Ratio
from tachograph.deploy.stack import running_servers
from tachograph.deploy.topics import apply_topics
from tachograph.sinks.clickhouse.migrate import migrate


def main() -> int:
    """Measure everything; print a line as soon as it is known."""
    results: list[Ratio] = []
    with tempfile.TemporaryDirectory(prefix="tachograph-bench-") as name, running_servers(Path(name)) as settings:
        apply_topics(settings.kafka)
        migrate(settings)
        for part in (sink, worker):
            for result in part.measure(settings, Path(name)):
                print(result, flush=True)
                results.append(result)
    return 0 if all(result.value >= result.goal for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
