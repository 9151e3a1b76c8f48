"""The publisher on a broker in memory: what is kept, what is sent, what is dropped and how it is said."""

import errno
from pathlib import Path

import pytest

from tachograph.producers.publishing import (
    Dropped,
    Message,
    MessageMalformed,
    MessageTooLarge,
    Publisher,
    SpoolFull,
    SpoolUnavailable,
)
from tachograph.producers.spool import SpoolPublisher, inspect
from tachograph.schemas.enums import DropReason
from tests.producers.spool.conftest import TOPIC, Make, die, message, numbers, turn_until_quiet
from tests.producers.spool.fakes import FakeBroker, FakeClock, FakeDisk

LEVELS = pytest.mark.parametrize("durability", ["memory", "process", "disk"])


@LEVELS
def test_messages_arrive_once_and_in_order(make: Make, broker: FakeBroker, durability: str) -> None:
    """For each key, at each level."""
    publisher: Publisher = make(durability=durability, segment_bytes=500)
    for number in range(100):
        publisher.publish(message(number, key=b"ab"[number % 2 : number % 2 + 1]))
    assert isinstance(publisher, SpoolPublisher)
    turn_until_quiet(publisher)
    found = broker.values(TOPIC)
    assert numbers(found[b"a"]) == list(range(0, 100, 2))
    assert numbers(found[b"b"]) == list(range(1, 100, 2))
    stats = publisher.stats()
    assert (stats.spooled, stats.sent, stats.acknowledged) == (100, 100, 100)
    assert (stats.messages_waiting, stats.bytes_waiting, stats.dropped) == (0, 0, 0)
    assert publisher.flush(0)


def test_the_message_is_sent_as_it_was_published(make: Make, broker: FakeBroker) -> None:
    """Headers and bytes, through the file and back."""
    sent = Message(TOPIC, b"\0key", b"\xc3\x01value", (("traceparent", b"00-1"), ("ce_id", b""), ("é", b"\xff")))
    publisher = make()
    publisher.publish(sent)
    turn_until_quiet(publisher)
    assert [kept.message for log in broker.logs[TOPIC] for kept in log] == [sent]


def test_segments_are_deleted_when_the_broker_has_them(make: Make, tmp_path: Path) -> None:
    """And the folder too, once the publisher is closed."""
    publisher = make(segment_bytes=200)
    for number in range(50):
        publisher.publish(message(number))
    assert len(inspect(tmp_path / "spool").spools[0].segments) > 5
    turn_until_quiet(publisher)
    assert len(inspect(tmp_path / "spool").spools[0].segments) == 1
    publisher.close(0)
    assert list((tmp_path / "spool").iterdir()) == []


def test_no_broker_at_all(make: Make, broker: FakeBroker, clock: FakeClock) -> None:
    """Publishing goes on for an hour; sending resumes when there is one."""
    broker.away = True
    publisher = make()
    for number in range(10):
        publisher.publish(message(number))
        turn_until_quiet(publisher)
        clock.now += 360
    assert not publisher.flush(0)
    assert publisher.stats().messages_waiting == 10
    broker.away = False
    clock.now += 60
    turn_until_quiet(publisher)
    assert numbers(broker.values(TOPIC)[b"run"]) == list(range(10))


def test_a_missing_topic_holds_only_itself(make: Make, broker: FakeBroker, clock: FakeClock) -> None:
    """Events flow while the captures topic is not there."""
    broker.missing_topics = {"captures"}
    publisher = make()
    publisher.publish(message(1, topic="captures"))
    publisher.publish(message(2))
    for _ in range(5):
        turn_until_quiet(publisher)
        clock.now += 60
    assert numbers(broker.values(TOPIC)[b"run"]) == [2]
    broker.missing_topics = set()
    turn_until_quiet(publisher)
    assert numbers(broker.values("captures")[b"run"]) == [1]


@pytest.mark.parametrize(
    ("when_full", "for_agent"), [("drop", False), ("raise", True)], ids=["drop", "raise reaches the agent"]
)
def test_a_full_spool_drops_and_says_so(make: Make, when_full: str, for_agent: bool) -> None:
    """Counted by reason; what is in the spool stays."""
    publisher = make(max_bytes=200, when_full=when_full)
    for number in range(5):
        publisher.publish(message(number))
    with pytest.raises(SpoolFull, match="of 200 bytes") as caught:
        publisher.publish(message(5))
    assert (caught.value.reason, caught.value.for_agent) == (DropReason.SPOOL_FULL, for_agent)
    stats = publisher.stats()
    assert stats.spooled == stats.messages_waiting == 5
    assert stats.dropped_by_reason == {DropReason.SPOOL_FULL: 1}
    turn_until_quiet(publisher)
    publisher.publish(message(99))


def test_a_full_spool_blocks_once_and_not_at_every_message(make: Make) -> None:
    """After one wait in vain the agent is not slowed again until something was acknowledged."""
    publisher = make(max_bytes=100, when_full="block", block_timeout=0.01)
    waits: list[float] = []
    wait_for = publisher._wait_for
    publisher._wait_for = lambda holds, timeout: waits.append(timeout) or wait_for(holds, timeout)  # type: ignore[method-assign,func-returns-value]
    publisher.publish(message(0))
    publisher.publish(message(1))
    for number in range(5):
        with pytest.raises(SpoolFull):
            publisher.publish(message(number))
    assert waits == [0.01]
    turn_until_quiet(publisher)
    publisher.publish(message(0))
    publisher.publish(message(1))
    with pytest.raises(SpoolFull):
        publisher.publish(message(2))
    assert waits == [0.01, 0.01]


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        pytest.param(Message(TOPIC, b"", bytes(2000)), MessageTooLarge, id="over the limit"),
        pytest.param(Message("no/such topic", b"", b""), MessageMalformed, id="a topic name Kafka would not take"),
        pytest.param(Message("..", b"", b""), MessageMalformed, id="a topic name that is a folder"),
        pytest.param(Message(TOPIC, bytes(70_000), b""), MessageMalformed, id="a key over 64 KiB"),
    ],
)
def test_a_message_that_cannot_be_sent_is_dropped_at_once(make: Make, bad: Message, error: type[Dropped]) -> None:
    """It takes no room, and the next one is kept."""
    publisher = make(max_message_bytes=1000)
    with pytest.raises(error):
        publisher.publish(bad)
    publisher.publish(message(1))
    assert (publisher.stats().dropped, publisher.stats().spooled) == (1, 1)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS], ids=["disk full", "I/O error", "read-only"])
def test_a_disk_that_refuses_drops_until_it_takes_again(
    make: Make, broker: FakeBroker, disk: FakeDisk, number: int
) -> None:
    """The agent goes on; what was kept before and after arrives in order."""
    publisher = make(segment_bytes=100)
    publisher.publish(message(0))
    disk.error = number
    for _ in range(3):
        with pytest.raises(SpoolUnavailable) as caught:
            publisher.publish(message(1))
        assert caught.value.reason is DropReason.SPOOL_IO
    turn_until_quiet(publisher)
    disk.error = None
    publisher.publish(message(2))
    turn_until_quiet(publisher)
    assert numbers(broker.values(TOPIC)[b"run"]) == [0, 2]
    assert publisher.stats().dropped == 3


@pytest.mark.parametrize("truncate_error", [None, errno.EIO], ids=["taken back", "left behind in a closed segment"])
def test_half_a_frame_on_a_full_disk_is_no_message(
    make: Make, broker: FakeBroker, disk: FakeDisk, truncate_error: int | None
) -> None:
    """Neither the sender nor an adopter ever sees it."""
    publisher = make()
    publisher.publish(message(0))
    disk.short_write, disk.truncate_error = True, truncate_error
    with pytest.raises(SpoolUnavailable):
        publisher.publish(message(1))
    disk.error = disk.truncate_error = None
    publisher.publish(message(2))
    turn_until_quiet(publisher)
    assert numbers(broker.values(TOPIC)[b"run"]) == [0, 2]
    assert publisher.stats().corrupt == 0


def test_an_unusable_folder_means_memory_and_says_so(
    make: Make, broker: FakeBroker, disk: FakeDisk, caplog: pytest.LogCaptureFixture
) -> None:
    """Level process falls back, once, loudly."""
    disk.error = errno.EROFS
    publisher = make()
    publisher.publish(message(0))
    turn_until_quiet(publisher)
    assert numbers(broker.values(TOPIC)[b"run"]) == [0]
    assert (publisher.stats().durability, publisher.stats().degraded) == ("memory", True)
    assert "Read-only file system" in caplog.text


def test_level_disk_never_falls_back(make: Make, broker: FakeBroker, disk: FakeDisk) -> None:
    """It drops while the folder is unusable, and keeps when it is not."""
    disk.error = errno.EROFS
    publisher = make(durability="disk")
    with pytest.raises(SpoolUnavailable):
        publisher.publish(message(0))
    disk.error = None
    publisher.publish(message(1))
    turn_until_quiet(publisher)
    assert numbers(broker.values(TOPIC)[b"run"]) == [1]
    assert not publisher.stats().degraded


def test_a_failed_sync_drops_what_it_was_for(make: Make, broker: FakeBroker, disk: FakeDisk) -> None:
    """The caller was told, so the message must never arrive; others do."""
    publisher = make(durability="disk")
    publisher.publish(message(0))
    disk.sync_error = errno.EIO
    with pytest.raises(SpoolUnavailable, match="synced"):
        publisher.publish(message(1))
    disk.sync_error = None
    publisher.publish(message(2))
    turn_until_quiet(publisher)
    assert numbers(broker.values(TOPIC)[b"run"]) == [0, 2]
    assert (publisher.stats().spooled, publisher.stats().messages_waiting) == (2, 0)
    assert publisher.flush(0)


@LEVELS
def test_a_lost_producer_repeats_nothing(make: Make, broker: FakeBroker, clock: FakeClock, durability: str) -> None:
    """Some of what was under way had arrived: Kafka is asked before anything is sent again."""
    publisher = make(durability=durability)
    for number in range(20):
        publisher.publish(message(number))
    publisher.turn()
    for number in range(20, 30):
        publisher.publish(message(number))
    transport = broker.transports[-1]
    transport.pace = 0
    publisher.turn()
    transport.take_silently(4)
    transport.lose()
    for _ in range(4):
        turn_until_quiet(publisher)
        clock.now += 60
    assert numbers(broker.values(TOPIC)[b"run"]) == list(range(30))
    assert publisher.stats().already_there == 4


@LEVELS
def test_a_message_refused_for_good_is_parked(
    make: Make, broker: FakeBroker, clock: FakeClock, tmp_path: Path, durability: str
) -> None:
    """The rest goes on, in order, and the refused one can be looked at."""
    broker.refuse = lambda candidate: candidate.value == message(7).value
    publisher = make(durability=durability)
    for number in range(20):
        publisher.publish(message(number))
    for _ in range(6):
        turn_until_quiet(publisher)
        clock.now += 60
    assert numbers(broker.values(TOPIC)[b"run"]) == [number for number in range(20) if number != 7]
    stats = publisher.stats()
    assert (stats.rejected, stats.messages_waiting) == (1, 0)
    assert inspect(tmp_path / "spool").rejected == (0 if durability == "memory" else 1)


def test_a_queue_without_room_is_no_failure(make: Make, broker: FakeBroker) -> None:
    """The sender waits for reports and goes on."""
    publisher = make()
    publisher.publish(message(0))
    publisher.turn()
    broker.transports[-1].room = 3
    for number in range(1, 50):
        publisher.publish(message(number))
    turn_until_quiet(publisher)
    assert numbers(broker.values(TOPIC)[b"run"]) == list(range(50))


@LEVELS
def test_a_closed_publisher_keeps_nothing(make: Make, durability: str) -> None:
    """And says so; closing twice is closing once."""
    publisher = make(durability=durability)
    publisher.close(0)
    publisher.close(0)
    with pytest.raises(SpoolUnavailable, match="closed"):
        publisher.publish(message(0))


def test_what_was_only_in_memory_when_closed_is_counted(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is lost silently."""
    publisher = make(durability="memory")
    publisher.publish(message(0))
    publisher.close(0)
    assert publisher.stats().dropped_by_reason == {DropReason.SPOOL_IO: 1}
    assert "1 messages" in caplog.text


def test_a_successor_sends_what_the_dead_left_before_its_own(make: Make, broker: FakeBroker, clock: FakeClock) -> None:
    """A run may go on in a new process under the same key, so its messages wait while the dead one's settle."""
    first = make()
    for number in range(5):
        first.publish(message(number))
        if number < 3:
            turn_until_quiet(first)
    die(first)
    second = make()
    for number in range(5, 10):
        second.publish(message(number))
    for _ in range(3):
        turn_until_quiet(second)
        clock.now += 60
    assert numbers(broker.values(TOPIC)[b"run"]) == list(range(10))
    assert second.stats().adopted == 1


def test_a_living_owner_is_never_robbed(make: Make, broker: FakeBroker, clock: FakeClock) -> None:
    """Two publishers on one folder send their own messages."""
    first, second = make(), make()
    first.publish(message(1, key=b"first"))
    second.publish(message(2, key=b"second"))
    for _ in range(3):
        turn_until_quiet(second)
        clock.now += 60
    assert broker.values(TOPIC).keys() == {b"second"}
    turn_until_quiet(first)
    assert broker.values(TOPIC).keys() == {b"first", b"second"}
    assert first.stats().adopted == second.stats().adopted == 0


def test_errors_and_logs_carry_no_content(
    make: Make, disk: FakeDisk, broker: FakeBroker, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in any of the ways in which a message can be dropped or refused."""
    secret = b"hunter2"
    texts = []
    publisher = make(max_message_bytes=100, max_bytes=150, when_full="drop")
    broker.refuse = lambda _: True
    for bad in (
        Message(TOPIC, secret, secret * 50),
        Message(secret.decode() + "/", secret, secret),
        Message(TOPIC, secret, secret.decode()),  # type: ignore[arg-type]
        *[Message(TOPIC, secret, secret)] * 5,
    ):
        try:
            publisher.publish(bad)
        except Dropped as dropped:
            texts.append(str(dropped))
    disk.error = errno.EIO
    for _ in range(3):
        turn_until_quiet(publisher)
        clock.now += 60
    assert texts
    assert secret.decode() not in "".join(texts) + caplog.text
