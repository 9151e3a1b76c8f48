"""The process that is the ClickHouse server: ``python -m tachograph.deploy.clickhouse_server FOLDER``.

The engine listens as long as one endless query of its own runs, so that query runs in a thread and stopping means
killing it. Ends with status 0 after SIGTERM or SIGINT, and with a sentence on stderr otherwise.
"""

import fcntl
import importlib.metadata
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from xml.etree import ElementTree as ET

from tachograph.deploy.clickhouse import ask, read_passwords

# One row a second and one row a block: the query wakes up once a second to see whether it was killed.
_LISTEN = (
    "SYSTEM START LISTEN HTTP; SYSTEM START LISTEN TCP; "
    "SELECT sleepEachRow(1) FROM system.numbers "
    "SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 2000000 FORMAT Null"
)
_KILL = "KILL QUERY WHERE user != 'tachograph_admin' ASYNC"
# A predecessor that was just killed may take a moment to be gone.
_LOCK_PATIENCE_S = 5.0
_LOOK_AGAIN_S = 0.1


class Engine(threading.Thread):
    """The endless query. ``error`` is why it ended, if it ended by itself."""

    def __init__(self, folder: Path) -> None:
        super().__init__(name="clickhouse", daemon=True)
        # Importing chdb boots a throw-away engine that reads ./config.xml; ours must not be there yet.
        os.chdir("/")
        from chdb import _chdb  # noqa: PLC0415  # boots an engine

        self._query: Callable[..., object] = _chdb.query  # type: ignore[attr-defined]  # a private name; chdb is pinned
        os.chdir(folder)
        self.error: Exception | None = None

    def run(self) -> None:
        """Listen until killed. The global interpreter lock is released meanwhile."""
        try:
            self._query(_LISTEN, "TabSeparated", path="data")
        except Exception as error:  # noqa: BLE001  # chdb raises what it likes; the main thread decides
            self.error = error


def serve(folder: Path) -> int:
    """Run the server until a signal."""
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    engine = Engine(folder)
    for number in (signal.SIGTERM, signal.SIGINT):  # after the import, which sets its own
        signal.signal(number, on_signal)
    engine.start()
    while engine.is_alive() and not stop.wait(_LOOK_AGAIN_S):
        pass
    port = int(ET.parse(folder / "config.xml").findtext("http_port", "0"))  # noqa: S314  # we wrote it
    while engine.is_alive():  # asked again and again, because the listener may not have been up yet
        ask(port, "admin", read_passwords(folder)["admin"], _KILL)
        engine.join(_LOOK_AGAIN_S)
    if stop.is_set():
        return 0
    return _fail(f"the ClickHouse engine ended by itself: {engine.error or 'the lines above say why'}")


def main() -> int:
    """Take the folder's lock, then serve."""
    folder = Path(sys.argv[1]).absolute()
    with (folder / "server.lock").open("w") as lock:
        deadline = time.monotonic() + _LOCK_PATIENCE_S
        while not _try_lock(lock.fileno()):
            if time.monotonic() > deadline:
                return _fail(f"another ClickHouse server uses {folder}. Stop it with `tachograph down`.")
            time.sleep(_LOOK_AGAIN_S)
        try:
            return serve(folder)
        except (ImportError, AttributeError):
            version = json.dumps(importlib.metadata.version("chdb"))
            return _fail(f"chdb {version} cannot serve: this release needs the pinned one from tachograph[local].")


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _fail(sentence: str) -> int:
    sys.stderr.write(sentence + "\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
