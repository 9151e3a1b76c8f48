"""An evaluator in a process of its own, which falls asleep before it first publishes."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tachograph.console.slo.evaluator import run_evaluator
from tachograph.console.slo.objective import Objective
from tachograph.schemas.settings import SloSettings, load_settings

_ROOT = Path(__file__).parents[3]


@contextmanager
def evaluator_process(told: dict[str, Any]) -> Iterator["subprocess.Popen[bytes]"]:
    """Says ``woken`` when it goes on after its sleep, and ``refused`` when it may not speak."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.console.slo.evaluator_process"],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(told).encode())
    process.stdin.close()
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


class _Refusal(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if "another evaluator has taken over" in record.getMessage():
            _say("refused")


def main() -> None:
    told = json.load(sys.stdin)
    settings = load_settings(Path(told["home"]))
    settings = settings.model_copy(update={"slo": SloSettings(**told["slo"])})
    logging.getLogger("tachograph.console.slo.lock").addHandler(_Refusal())

    def publishing(_moment: int) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)
        _say("woken")

    run_evaluator(
        settings,
        [Objective(**told["objective"])],
        stop=threading.Event(),
        topic=told["topic"],
        clock=lambda: told["now"],
        publishing=publishing,
    )


if __name__ == "__main__":
    main()
