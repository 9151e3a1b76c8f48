"""Keeps processes running, and ends them all.

One thread starts, watches, restarts and stops. It must be one and the same thread, because the kernel ties a leashed
child to the *thread* that started it: a child started by a helper thread would be killed when that thread ends.
"""

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal

from tachograph.deploy.backoff import Backoff, Clock, RestartPolicy
from tachograph.deploy.child import Child
from tachograph.deploy.process import ProcessId, identify, leashed

# All children together have this long to end, and each at least its share of it.
STOP_WITHIN_S = 9.0
_LEAST_GRACE_S = 1.0
# How soon a death is noticed.
_LOOK_AGAIN_S = 0.1


@dataclass(frozen=True)
class ChildEvent:
    """Something happened to a child."""

    name: str
    what: Literal["started", "died", "stopped", "killed"]
    pid: int
    returncode: int | None = None
    """Set for ``died``; negative is the number of the signal that ended it."""
    restart_in_s: float | None = None
    """Set for ``died`` if it will be started again."""


@dataclass
class _Watched:
    child: Child
    policy: RestartPolicy
    process: "subprocess.Popen[bytes] | None" = None
    identity: ProcessId | None = None
    restart_at: float | None = None


@dataclass
class _Order:
    """Work for the supervisor's thread, with the place for its result."""

    work: Callable[[], None]
    done: "Future[None]" = field(default_factory=Future)


class Supervisor:
    """Starts children in order, restarts those that die, stops them in reverse order."""

    def __init__(
        self,
        on_event: Callable[[ChildEvent], None] = lambda _event: None,
        *,
        backoff: Backoff | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._on_event = on_event
        self._backoff = backoff or Backoff()
        self._clock = clock
        self._watched: list[_Watched] = []
        self._orders: queue.SimpleQueue[_Order] = queue.SimpleQueue()
        self._restarting = False
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)
        self._thread.start()

    def start(self, child: Child) -> None:
        """Start a child. Its death before :meth:`arm` is noticed and reported, not repaired."""
        self._do(lambda: self._add(child))

    def arm(self) -> None:
        """From now on, restart children that die."""
        self._restarting = True

    def stop(self) -> None:
        """End all children, the last started first, and this supervisor. Takes no longer than ten seconds."""
        if not self._ended:
            self._do(self._stop_all)
            self._thread.join()

    def processes(self) -> dict[str, ProcessId | None]:
        """Every child by name, in the order of their start, with ``None`` for one that does not run now."""
        return {watched.child.name: watched.identity for watched in list(self._watched)}

    def _do(self, work: Callable[[], None]) -> None:
        order = _Order(work)
        self._orders.put(order)
        order.done.result()

    def _run(self) -> None:
        while not self._ended:
            with contextlib.suppress(queue.Empty):
                order = self._orders.get(timeout=_LOOK_AGAIN_S)
                try:
                    order.work()
                except BaseException as error:  # noqa: BLE001  # belongs to whoever gave the order
                    order.done.set_exception(error)
                else:
                    order.done.set_result(None)
            for watched in [] if self._ended else self._watched:
                self._look(watched)

    def _add(self, child: Child) -> None:
        self._watched.append(_Watched(child, RestartPolicy(self._clock, self._backoff)))
        self._spawn(self._watched[-1])

    def _spawn(self, watched: _Watched) -> None:
        child = watched.child
        descriptor = os.open(child.log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            watched.process = subprocess.Popen(  # noqa: S603  # the command line comes from our own launcher
                leashed(child.argv),
                env=child.env,
                cwd=child.cwd,
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                start_new_session=True,  # Ctrl-C in the terminal is for the supervisor, which stops them in order
            )
        finally:
            os.close(descriptor)
        watched.identity = identify(watched.process.pid)
        watched.restart_at = None
        watched.policy.started()
        self._on_event(ChildEvent(child.name, "started", watched.process.pid))

    def _look(self, watched: _Watched) -> None:
        process = watched.process
        if process is not None and process.poll() is not None:
            _kill_group(process.pid)
            watched.process = watched.identity = None
            wait = watched.policy.died() if self._restarting and watched.child.restart else None
            watched.restart_at = self._clock() + wait if wait is not None else None
            event = ChildEvent(
                watched.child.name, "died", process.pid, returncode=process.returncode, restart_in_s=wait
            )
            self._on_event(event)
        elif watched.restart_at is not None and self._clock() >= watched.restart_at:
            self._spawn(watched)

    def _stop_all(self) -> None:
        self._ended = True
        deadline = time.monotonic() + STOP_WITHIN_S
        running = [(each.child, each.process) for each in reversed(self._watched) if each.process is not None]
        for index, (child, process) in enumerate(running):
            after = len(running) - index - 1
            grace = max(deadline - time.monotonic() - after * _LEAST_GRACE_S, _LEAST_GRACE_S)
            self._on_event(ChildEvent(child.name, _end(process, grace), process.pid))


def _end(process: "subprocess.Popen[bytes]", grace_s: float) -> Literal["stopped", "killed"]:
    process.terminate()
    try:
        process.wait(grace_s)
    except subprocess.TimeoutExpired:
        _kill_group(process.pid)
        process.wait()
        return "killed"
    _kill_group(process.pid)
    return "stopped"


def _kill_group(leader: int) -> None:
    """End what a child may have started itself. It leads its own group, and so does nobody else."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
