"""A sink that may kill itself at a given moment: the process behind :func:`tests.sinks.running.sink_process`."""

import json
import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path

from tachograph.schemas.settings import SinkSettings, load_settings
from tachograph.schemas.topics import DLQ, ROWS
from tachograph.sinks.clickhouse import run_sink


def main() -> None:
    told = json.load(sys.stdin)
    settings = load_settings(Path(told["home"]))
    settings = settings.model_copy(update={"sink": SinkSettings(**told["sink"])})
    tables = {topic.table: topic for topic in (*ROWS, DLQ)}
    topics = [replace(tables[table], name=name) for name, table in told["topics"]]
    waiting = [told["moment"]]

    def moment(name: str) -> None:
        if name in waiting:
            waiting.clear()
            os.kill(os.getpid(), signal.Signals[told["action"]])

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    run_sink(settings, stop=stop, topics=topics, moment=moment)


if __name__ == "__main__":
    main()
