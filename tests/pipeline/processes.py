"""Worker and sink as real processes of their own, which a test may kill."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from tachograph.schemas.settings import Settings

STOP_TIMEOUT_S = 20.0


class Part:
    """One process of the pipeline, restarted under the same name."""

    def __init__(self, command: str, settings: Settings, log: Path, **overrides: str) -> None:
        self.command = command
        self._log = log
        self._environment = os.environ | {"TACHOGRAPH_HOME": str(settings.home)} | overrides
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *arguments: str) -> Self:
        assert self._process is None
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tachograph.console.main",
                    self.command,
                    "--instance",
                    f"{self.command}-0",
                    *arguments,
                ],
                env=self._environment,
                stdout=log,
                stderr=log,
            )
        return self

    def kill(self) -> None:
        """As a power cut would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process = None

    def stop(self) -> int:
        """As an operator would. Returns the exit code."""
        assert self._process is not None
        self._process.terminate()
        try:
            code = self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._process = None
        return code

    def run_for(self, seconds: float) -> None:
        """Let it work for a while; it must not end by itself."""
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(seconds)
            raise AssertionError(f"{self.command} ended with {code}: {self.log_tail()}")

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def log_tail(self) -> str:
        return self._log.read_text(errors="replace")[-3000:]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.alive():
            self.kill() if error else self.stop()


@contextlib.contextmanager
def pipeline(settings: Settings, folder: Path, **overrides: str) -> Iterator[tuple[Part, Part]]:
    """A worker and a sink."""
    worker = Part("worker", settings, folder / "worker.log", **overrides)
    sink = Part("sink", settings, folder / "sink.log", **overrides)
    with worker, sink:
        yield worker, sink


def wait_for(condition: Callable[[], bool], describe: Callable[[], str], *parts: Part) -> None:
    """Ask again and again, as long as every part is alive, for two minutes at most."""
    deadline = time.monotonic() + 120
    while not condition():
        for part in parts:
            assert part.alive(), f"{part.command} ended: {part.log_tail()}"
        if time.monotonic() > deadline:
            logs = "\n".join(f"== {part.command}\n{part.log_tail()}" for part in parts)
            raise AssertionError(f"not done within two minutes\n{describe()}\n{logs}")
