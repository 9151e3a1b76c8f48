"""A sealer that may kill itself at a given moment, and writes to topics with a prefix."""

import json
import os
import signal
import sys
import threading
from pathlib import Path

from tachograph.processors.names import TopicNames
from tachograph.processors.sealing.service import run_sealer
from tachograph.schemas.settings import load_settings


def main() -> None:
    told = json.load(sys.stdin)
    settings = load_settings(Path(told["home"]))
    section = settings.sealer.model_copy(update=told["sealer"])

    def moment(name: str) -> None:
        if name == told["moment"]:
            os.kill(os.getpid(), signal.SIGKILL)

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    run_sealer(
        settings.model_copy(update={"sealer": section}),
        stop=stop,
        outputs=TopicNames(told["prefix"]),
        moment=moment,
    )


if __name__ == "__main__":
    main()
