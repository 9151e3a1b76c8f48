"""The thread that sends.

It must not be felt by the agent. While it runs Python code, a caller that comes back from ``write`` waits for the
interpreter; so it sleeps for ``linger`` before each burst, and gives way after every slice of messages.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tachograph.producers.spool.adoption import Adoption, adopt_orphans
from tachograph.producers.spool.complaints import LOGGER
from tachograph.producers.spool.files import Files
from tachograph.producers.spool.lane import Lane
from tachograph.producers.spool.options import SpoolOptions
from tachograph.producers.spool.sender import Sender
from tachograph.producers.spool.transport import Transport

_HEAR_S: Final = 0.1
_RETRY_S: Final = 0.1


class SendLoop:
    """Runs a sender in a daemon thread, and adopts what dead processes left."""

    def __init__(
        self,
        options: SpoolOptions,
        make_sender: Callable[[Callable[[], bool]], Sender],
        files: Files,
        *,
        root: Path | None,
        pending: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = options
        self._files = files
        self._root = root
        """The spool's folder; None at level ``memory``."""
        self._pending = pending
        """There are messages of this process that are not acknowledged."""
        self._clock = clock
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._stopped = False
        self._own: list[Lane] = []
        self._adoptions: tuple[Adoption, ...] = ()
        self._adopt_at = 0.0
        self._thread: threading.Thread | None = None
        self._found_before = 0
        self._corrupt_before = 0
        self.asleep = False
        """The thread waits to be woken. Callers read it at every message: it saves them the event's lock."""
        self.adopted = 0
        self.sender = make_sender(lambda: self._stopped)

    @property
    def found(self) -> int:
        """Messages that were in Kafka already."""
        return self._found_before + sum(lane.found for lane in self.sender.lanes)

    @property
    def corrupt(self) -> int:
        """Damaged stretches."""
        return self._corrupt_before + sum(lane.source.corrupt for lane in self.sender.lanes)

    @property
    def adopting(self) -> int:
        """Spools of dead processes that are not finished."""
        return len(self._adoptions)

    def start(self) -> None:
        """Begin to send."""
        self._thread = threading.Thread(target=self._run, name="tachograph-spool", daemon=True)
        self._thread.start()

    def add(self, lane: Lane) -> None:
        """A new topic of this process. What dead processes left of it goes first."""
        lane.waits_for = tuple(other for item in self._adoptions for other in item.lanes if other.topic == lane.topic)
        self._own.append(lane)

    def wake(self) -> None:
        """There is something to send."""
        # Said before the thread can say it itself: it gets the interpreter milliseconds later, and until then every
        # caller would wake it again, for 2 µs each.
        self.asleep = False
        self._wake.set()

    def hurry(self, *, on: bool) -> None:
        """Somebody waits for the broker: send without lingering."""
        if on:
            self._hurry.set()
            self._wake.set()
        else:
            self._hurry.clear()

    def stop(self, timeout: float) -> bool:
        """End the thread. False if it did not end in time: then its files must be left to it."""
        self._stopped = True
        self._hurry.set()
        self._wake.set()
        if self._thread is None:
            self._end()
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def forget(self) -> Transport | None:
        """In a forked child: let go of inherited files; give up the producer, which must not be touched."""
        for lane in self._own:
            lane.close()
        for item in self._adoptions:
            item.close_inherited()
        return self.sender.forget_transport()

    def adopt(self) -> None:
        """Look for spools of dead processes."""
        if self._root is None:
            self._adopt_at = float("inf")
            return
        self._adopt_at = self._clock() + self._options.adopt_interval
        found = adopt_orphans(self._files, self._root, self._clock() + self._options.settle)
        self._adoptions += tuple(found)
        self.adopted += len(found)

    def turn(self) -> bool:
        """One step of the sender; True if there is more to do at once."""
        if self._clock() >= self._adopt_at:
            self.adopt()
        adoptions = self._adoptions
        self.sender.lanes = (*(lane for item in adoptions for lane in item.lanes), *self._own)
        busy = self.sender.step(_HEAR_S)
        for item in adoptions:
            if item.finished:
                self._bury(item)
        return busy

    def _bury(self, item: Adoption) -> None:
        self._found_before += sum(lane.found for lane in item.lanes)
        self._corrupt_before += sum(lane.source.corrupt for lane in item.lanes)
        self._adoptions = tuple(other for other in self._adoptions if other is not item)
        self.sender.lanes = tuple(lane for lane in self.sender.lanes if lane not in item.lanes)
        item.remove()

    def _run(self) -> None:
        while not self._stopped:
            try:
                if not self.turn() and not self.sender.in_flight:
                    self._rest()
            except Exception:  # noqa: BLE001 - recording never breaks the agent
                # Whatever it is, messages are in the spool, and what was under way is asked about. The sender waits
                # longer after each failure, so this cannot fill the log.
                LOGGER.exception("the spool's thread met an error and starts over")
                self.sender.start_over()
        self._end()

    def _end(self) -> None:
        self.sender.save_all()
        self.sender.close()
        for item in self._adoptions:
            item.release()

    def _rest(self) -> None:
        """Wait for something to do, then let a batch gather."""
        # In this order: whoever wakes us after the first line is heard, whoever published before the second is seen.
        self._wake.clear()
        self.asleep = True
        if self._stopped:
            return
        if self._pending() or self._adoptions:
            # What is left could not be sent now: the broker is away, or an adopted spool has to settle.
            self._wake.wait(_RETRY_S)
        else:
            self._wake.wait(min(max(0.0, self._adopt_at - self._clock()), threading.TIMEOUT_MAX))
        self.asleep = False
        if not self._stopped:
            self._hurry.wait(self._options.linger)
