from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tachograph.producers.publishing import Message
from tachograph.producers.spool import SpoolOptions, SpoolPublisher
from tests.producers.spool.fakes import FakeBroker, FakeClock, FakeDisk

TOPIC = "tachograph.events.v1"

Make = Callable[..., SpoolPublisher]


def message(number: int, *, key: bytes = b"run", topic: str = TOPIC) -> Message:
    return Message(topic, key, number.to_bytes(4, "big"), (("ce_type", b"t"),))


def numbers(values: list[bytes]) -> list[int]:
    return [int.from_bytes(value, "big") for value in values]


def turn_until_quiet(publisher: SpoolPublisher) -> None:
    """Let the sender do all it can do without time passing."""
    for _ in range(10_000):
        if not publisher.turn():
            return
    raise AssertionError("the sender never comes to rest")


@pytest.fixture
def broker() -> FakeBroker:
    return FakeBroker()


@pytest.fixture
def disk() -> FakeDisk:
    return FakeDisk()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def make(tmp_path: Path, broker: FakeBroker, disk: FakeDisk, clock: FakeClock) -> Iterator[Make]:
    """Publishers on one folder without threads: the test moves the sender and the clock."""
    made: list[SpoolPublisher] = []

    def _make(**options: object) -> SpoolPublisher:
        chosen = SpoolOptions(**{"folder": tmp_path / "spool", **options})  # type: ignore[arg-type]
        made.append(SpoolPublisher(chosen, transport=broker.connect, files=disk.files, clock=clock, start=False))
        return made[-1]

    yield _make
    disk.__init__()  # type: ignore[misc]
    for publisher in made:
        publisher.close(0)


def die(publisher: SpoolPublisher) -> None:
    """As kill -9 does, as far as files and locks can tell: every descriptor closes, nothing is said to anybody."""
    publisher.after_fork_in_child()
    publisher._closed = True
