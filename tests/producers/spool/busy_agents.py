"""A parent that starts agents on one spool folder and kills each at a random moment. Run as a program.

It imports everything once and forks, so that a round lasts as long as its agent and not as long as Python's start.
Agents note the event id of each record whose ``publish`` has returned in a journal; the parent prints one line per
kill.
"""

import os
import random
import select
import signal
import sys
from pathlib import Path

import confluent_kafka as _warm  # noqa: F401 - imported here once instead of in every agent's thread

from tachograph.producers import Tracer
from tachograph.producers import encoding as _encoding  # noqa: F401 - as above
from tachograph.producers import run as _run  # noqa: F401 - as above
from tachograph.producers.publishing import Message, PublisherStats
from tachograph.producers.redaction import Redactor
from tachograph.producers.spool import SpoolOptions, SpoolPublisher
from tachograph.schemas.headers import Header
from tachograph.schemas.settings import KafkaSettings

AT_ONCE = 4
MOST_RECORDS = 60
"""An agent dies after a random number of records up to this, however slow the machine is."""
LONGEST_WAIT_S = 0.1
"""And a random moment later, so that its death falls anywhere between two records or in the middle of one."""
LINE = 37
"""Bytes of a note: a UUID and the end of the line."""


class Journalled:
    """Publishes to the test's own topic, and notes what its caller is about to be told is kept."""

    def __init__(self, spool: SpoolPublisher, topic: str, journal: Path) -> None:
        self._spool = spool
        self._topic = topic
        self._journal = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def publish(self, message: Message) -> None:
        self._spool.publish(Message(self._topic, message.key, message.value, message.headers))
        os.write(self._journal, dict(message.headers)[Header.CE_ID] + b"\n")

    def flush(self, timeout: float) -> bool:
        return self._spool.flush(timeout)

    def close(self, timeout: float = 10.0) -> None:
        self._spool.close(timeout)

    def stats(self) -> PublisherStats:
        return self._spool.stats()


def be_busy(folder: Path, journal: Path, settings: KafkaSettings, topic: str, name: str) -> None:
    """One short run after another, for ever."""
    options = SpoolOptions(folder=folder, segment_bytes=64 * 1024, settle=0.3, linger=0.005, adopt_interval=0.2)
    publisher = Journalled(SpoolPublisher(options, kafka=settings), topic, journal / name)
    tracer = Tracer(name, publisher=publisher, tools={"add": lambda a, b: a + b}, strict=True)
    while True:
        with tracer.start_run("What is the sum?") as run, run.step("tool", "add them up"):
            run.record_decision(decision_type="tool_selection", selected="add", reason_code="fresh_data_required")
            run.tools.execute("add", {"a": 1, "b": 2})
            run.model_call(lambda **_: "3", model="m", messages="What is the sum?")
            run.tools.execute("add", {"a": 3, "b": 4})
            run.record_quality_signal(signal_type="tool_success", signal_code="first_attempt", value=True)
        select.select([], [], [], 0.01)  # an agent also waits for its user


def wait_until_noted(journal: Path, records: int) -> None:
    """Wait until an agent has got that far."""
    while records and not (journal.exists() and journal.stat().st_size >= records * LINE):
        select.select([], [], [], 0.005)


def main(folder: Path, journal: Path, bootstrap: str, topic: str, *, rounds: int, seed: int) -> None:
    """A few agents at a time; in each round the oldest dies."""
    chance = random.Random(seed)  # noqa: S311 - moments of death
    settings = KafkaSettings(bootstrap_servers=bootstrap)
    Redactor().text("what is compiled now, no agent has to compile")
    alive: list[tuple[int, Path]] = []
    for turn in range(rounds):
        pid = os.fork()
        if pid == 0:
            try:
                be_busy(folder, journal, settings, topic, f"agent-{turn}")
            finally:
                os._exit(1)  # it never ends by itself; if it does, it must not go on as the parent
        alive.append((pid, journal / f"agent-{turn}"))
        while len(alive) >= (AT_ONCE if turn < rounds - 1 else 1):
            victim, noted = alive.pop(0)
            wait_until_noted(noted, chance.randint(0, MOST_RECORDS))
            select.select([], [], [], chance.uniform(0, LONGEST_WAIT_S))
            os.kill(victim, signal.SIGKILL)
            status = os.waitpid(victim, 0)[1]
            if os.WIFSIGNALED(status):
                sys.stdout.write(f"killed {victim}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4], rounds=int(sys.argv[5]), seed=int(sys.argv[6]))
