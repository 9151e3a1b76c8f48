"""A parent that starts agents on one spool folder and kills each at a random moment. Run as a program.

It imports everything once and forks, so that a round lasts as long as its agent and not as long as Python's start.
Agents note each message whose ``publish`` has returned in a journal; the parent prints one line per kill.
"""

import os
import random
import select
import signal
import sys
from pathlib import Path

import confluent_kafka as _warm  # noqa: F401 - imported here once instead of in every agent's thread

from tachograph.producers.publishing import Message
from tachograph.producers.spool import SpoolOptions, SpoolPublisher
from tachograph.schemas.settings import KafkaSettings

KEYS = 3
AT_ONCE = 4


def be_busy(folder: Path, journal: Path, settings: KafkaSettings, topic: str, name: str) -> None:
    """Publish as fast as possible, for ever."""
    options = SpoolOptions(folder=folder, segment_bytes=64 * 1024, settle=0.1, linger=0.005, adopt_interval=0.2)
    publisher = SpoolPublisher(options, kafka=settings)
    note = os.open(journal / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    number = 0
    while True:
        key = f"{name}/{number % KEYS}".encode()
        publisher.publish(Message(topic, key, b"%d" % number + b" " * 300))
        os.write(note, b"%d\n" % number)
        number += 1
        if number % 20 == 0:
            select.select([], [], [], 0.01)  # an agent also waits for its model


def main(folder: Path, journal: Path, bootstrap: str, topic: str, *, rounds: int, seed: int) -> None:
    """A few agents at a time; in each round the oldest dies."""
    chance = random.Random(seed)  # noqa: S311 - moments of death
    settings = KafkaSettings(bootstrap_servers=bootstrap)
    alive: list[int] = []
    for turn in range(rounds):
        pid = os.fork()
        if pid == 0:
            be_busy(folder, journal, settings, topic, f"agent-{turn}")
        alive.append(pid)
        select.select([], [], [], chance.uniform(0.01, 0.4))
        while len(alive) >= (AT_ONCE if turn < rounds - 1 else 1):
            victim = alive.pop(0)
            os.kill(victim, signal.SIGKILL)
            os.waitpid(victim, 0)
            sys.stdout.write(f"killed {victim}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4], rounds=int(sys.argv[5]), seed=int(sys.argv[6]))
