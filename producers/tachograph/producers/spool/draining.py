"""Sending what dead processes left, without being an agent: ``tachograph spool drain``."""

import dataclasses
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tachograph.producers.spool.files import OS_FILES, Files
from tachograph.producers.spool.kafka import KafkaTransport
from tachograph.producers.spool.loop import SendLoop
from tachograph.producers.spool.options import SpoolOptions
from tachograph.producers.spool.sender import Sender
from tachograph.producers.spool.subfolder import owner_alive, subfolders
from tachograph.producers.spool.transport import Connect, Transport
from tachograph.schemas.errors import ConfigError

if TYPE_CHECKING:
    from tachograph.schemas.settings import KafkaSettings

_PAUSE_S: Final = 0.02


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DrainReport:
    """What became of a spool folder."""

    adopted: int
    """Spools of dead processes that were found."""
    finished: int
    """Those that are in Kafka whole, and deleted."""
    alive: int
    """Spools whose owners live, and send for themselves."""
    acknowledged: int
    """Messages that were sent now."""
    already_there: int
    """Messages that had arrived before their process died."""
    rejected: int
    """Messages that the broker refuses for good, now under ``rejected/``."""
    corrupt: int
    """Damaged stretches that were stepped over."""

    @property
    def complete(self) -> bool:
        """Nothing of a dead process is left."""
        return self.finished == self.adopted


def drain(
    folder: Path,
    kafka: "KafkaSettings | None" = None,
    *,
    progress: Callable[[int], None] = lambda _: None,
    patience: float = 30.0,
    options: SpoolOptions | None = None,
    transport: Connect | None = None,
    files: Files = OS_FILES,
    clock: Callable[[], float] = time.monotonic,
) -> DrainReport:
    """Send everything in ``folder`` that belongs to no living process.

    ``progress`` hears how many messages are done, again and again. Gives up after ``patience`` seconds in which
    nothing moved; the rest stays where it is.
    """
    if kafka is None and transport is None:
        raise ConfigError("draining a spool needs the settings of the broker")
    # Whoever dies from now on is for the next call: this one must end.
    chosen = dataclasses.replace(options or SpoolOptions(), folder=folder, adopt_interval=float("inf"))

    def connect() -> Transport:
        assert kafka is not None
        return KafkaTransport(kafka, max_message_bytes=chosen.max_message_bytes)

    done = [0]

    def count(_lane: object, messages: int, _size: int) -> None:
        done[0] += messages

    loop = SendLoop(
        chosen,
        lambda stop: Sender(chosen, transport or connect, files, root=folder, on_done=count, clock=clock, stop=stop),
        files,
        root=folder,
        pending=lambda: False,
        clock=clock,
    )
    loop.adopt()
    adopted = loop.adopted
    pause = threading.Event()
    moved_at = clock()
    while loop.adopting and clock() - moved_at < patience + chosen.settle:
        before = done[0], loop.adopting
        if not loop.turn() and not loop.sender.in_flight and loop.adopting:
            pause.wait(_PAUSE_S)
        if (done[0], loop.adopting) != before:
            moved_at = clock()
            progress(done[0])
    left = loop.adopting
    loop.stop(0)
    sender = loop.sender
    return DrainReport(
        adopted=adopted,
        finished=adopted - left,
        alive=sum(owner_alive(path) for path in subfolders(folder)),
        acknowledged=sender.acknowledged,
        already_there=loop.found,
        rejected=sender.rejected,
        corrupt=loop.corrupt,
    )
