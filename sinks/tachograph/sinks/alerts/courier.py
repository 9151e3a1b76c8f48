"""One thread for each receiver: a receiver that hangs holds up nobody but itself."""

import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tachograph.sinks.alerts.dispatch import Failure, Notification
from tachograph.sinks.alerts.receivers import Receive


class Outcome(NamedTuple):
    """How a delivery ended."""

    notification: Notification
    failure: Failure | None


class Couriers:
    """Hands notifications over and collects outcomes. Used from one thread."""

    def __init__(self, receivers: Mapping[str, Receive], clock: Callable[[], float] = time.time) -> None:
        self._outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._errands: dict[str, queue.SimpleQueue[Notification | None]] = {}
        self._clock = clock
        for name, receive in receivers.items():
            errands: queue.SimpleQueue[Notification | None] = queue.SimpleQueue()
            self._errands[name] = errands
            threading.Thread(target=self._run, args=(errands, receive), name=f"alerts-{name}", daemon=True).start()

    def send(self, notification: Notification) -> None:
        """Start a delivery. Its outcome comes later."""
        self._errands[notification.receiver].put(notification)

    def outcomes(self, wait_s: float) -> list[Outcome]:
        """Deliveries that ended. Waits for the first one, if there is none yet."""
        found = []
        try:
            found.append(self._outcomes.get(timeout=wait_s) if wait_s > 0 else self._outcomes.get_nowait())
            while True:
                found.append(self._outcomes.get_nowait())
        except queue.Empty:
            return found

    def close(self) -> None:
        """Let the threads end after what they are doing."""
        for errands in self._errands.values():
            errands.put(None)

    def _run(self, errands: "queue.SimpleQueue[Notification | None]", receive: Receive) -> None:
        while (notification := errands.get()) is not None:
            try:
                failure = receive(notification, self._clock())
            except Exception as error:  # noqa: BLE001 - a bug in one receiver must not silence it for good
                failure = Failure(f"failed inside ({type(error).__name__})")
            self._outcomes.put(Outcome(notification, failure))
