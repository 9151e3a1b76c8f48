"""Runs that are open, or whose end is not kept yet. At interpreter exit they are closed as aborted, best effort."""

import atexit
import contextlib
import os
import threading
from typing import TYPE_CHECKING

from tachograph.producers.publishing import Dropped
from tachograph.schemas.enums import RunStatus

if TYPE_CHECKING:
    from tachograph.producers.run import Run


class _Open:
    lock = threading.Lock()
    runs: "dict[int, Run]" = {}  # noqa: RUF012 - the process's own, replaced in a forked child


def opened(run: "Run") -> None:
    """A run started."""
    with _Open.lock:
        _Open.runs[id(run)] = run


def ended(run: "Run") -> None:
    """A run's last record is kept."""
    with _Open.lock:
        _Open.runs.pop(id(run), None)


def open_runs() -> "list[Run]":
    """Runs that are not over, oldest first."""
    with _Open.lock:
        return list(_Open.runs.values())


def close_all() -> None:
    """Close what is still open, the innermost run first; try once more what could not be ended."""
    for run in reversed(open_runs()):
        with contextlib.suppress(Dropped):  # a spool that is full is no agent's to hear of any more
            if run.is_open:
                run.close(status=RunStatus.ABORTED)
            else:
                run.finish()
        ended(run)


def close_at_exit() -> None:
    """Be called at exit, before what was registered earlier: a publisher must outlive the runs that use it."""
    atexit.unregister(close_all)
    atexit.register(close_all)


def _forked() -> None:
    # The runs belong to the parent; the child must not end them.
    _Open.lock, _Open.runs = threading.Lock(), {}


os.register_at_fork(after_in_child=_forked)
