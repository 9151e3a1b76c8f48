"""Whatever dies, whenever: every row is there exactly once, without FINAL."""

import random
import signal
import threading

import pytest

from tachograph.sinks.clickhouse.reader import Reader
from tests.sinks.conftest import Place
from tests.sinks.running import eventually, is_stopped, running_sink, sink_process

pytestmark = pytest.mark.stack


def test_kill_at_every_moment_of_the_cycle(place: Place) -> None:
    """After the plan, after the insert, after the dead letters, after the end: what follows repeats exactly that.

    More rows arrive before each restart, so a sink that planned anew would cut another range.
    """
    sent = 0
    for moment in ("planned", "inserted", "dead_lettered", "finished"):
        place.send("agent_steps", range(sent, sent + 40))
        place.send_raw("agent_steps", sent + 40, b"not a row")
        place.producer.flush()
        sent += 42
        with sink_process(place.settings, place.topics, moment=moment, action="SIGKILL") as doomed:
            assert doomed.wait(60) == -signal.SIGKILL
    place.send("agent_steps", range(sent, sent + 40))
    expected = [n for n in range(sent + 40) if n >= sent or n % 42 < 40]
    with running_sink(place.settings, place.topics):
        eventually(lambda: len(set(place.numbers("agent_steps"))) == len(expected), "all rows")
        eventually(lambda: place.count("dead_letters") >= 4, "the dead letters")
    assert place.numbers("agent_steps") == expected
    assert place.count("dead_letters") == 4


@pytest.mark.timeout(180)
def test_kill_at_random_points(place: Place) -> None:
    """SIGKILL five times while small batches flow, at whatever point that hits."""
    total, chance = 1800, random.Random(7)  # noqa: S311 - not for secrets
    settings = place.with_sink(batch_rows=60, batch_within_s=0.05)
    place.send("agent_decisions", range(total))
    for threshold in sorted(chance.sample(range(0, total - 300, 60), 5)):
        with sink_process(settings, place.topics) as sink:
            eventually(lambda least=threshold: place.count("agent_decisions") > least, f"{threshold} rows")  # type: ignore[misc]
            sink.kill()
    with running_sink(place.settings, place.topics):
        eventually(lambda: len(set(place.numbers("agent_decisions"))) == total, "all rows")
    assert place.numbers("agent_decisions") == list(range(total))


def test_rows_that_a_worker_wrote_twice_land_once(place: Place) -> None:
    """The repeats have other offsets and the same source coordinates; the marks outlive the sink."""
    place.send("agent_steps", range(20))
    with running_sink(place.settings, place.topics):
        eventually(lambda: place.count("agent_steps") == 20, "the first rows")
    place.send("agent_steps", range(10, 30))
    with running_sink(place.settings, place.topics):
        eventually(lambda: place.count("agent_steps") >= 30, "the other rows")
    assert place.numbers("agent_steps") == list(range(30))


@pytest.mark.timeout(120)
def test_a_sleeper_whose_partitions_were_given_away_changes_nothing(place: Place) -> None:
    """A sink falls asleep after its plan, another takes over and goes on, the first wakes up.

    Its insert is dropped by its token, and its commit is refused: the offsets stay where the second one left them.
    """
    settings = place.with_sink(instance_id="", session_timeout_s=6.0)
    place.send("agent_steps", range(50))
    with sink_process(settings, place.topics, moment="planned", action="SIGSTOP") as sleeper:
        eventually(lambda: is_stopped(sleeper.pid), "the sleeper to sleep")
        with running_sink(settings, place.topics):
            eventually(lambda: place.count("agent_steps") == 50, "the second sink to take over")
            place.send("agent_steps", range(50, 80))
            eventually(lambda: place.count("agent_steps") == 80, "the second sink to go on")
            sleeper.send_signal(signal.SIGCONT)
            place.send("agent_steps", range(80, 120))
            eventually(lambda: place.count("agent_steps") >= 120, "both to go on")
    assert place.numbers("agent_steps") == list(range(120))


def test_sinks_share_the_work_and_hand_it_over(place: Place) -> None:
    """A second sink joins in the middle, the first leaves: nothing is missing, nothing twice."""
    settings = place.with_sink(instance_id="", batch_rows=100, batch_within_s=0.05)
    place.send("agent_steps", range(1000))
    with running_sink(settings, place.topics):
        with running_sink(settings, place.topics):
            eventually(lambda: place.count("agent_steps") >= 300, "some rows")
            place.send("agent_steps", range(1000, 2000))
            eventually(lambda: place.count("agent_steps") >= 1200, "most rows")
        eventually(lambda: len(set(place.numbers("agent_steps"))) == 2000, "all rows")
    assert place.numbers("agent_steps") == list(range(2000))


def test_a_partition_that_was_paused_when_it_went_is_read_when_it_comes_back(place: Place) -> None:
    """Kafka's client keeps the pause of a partition that was taken away."""
    settings = place.with_sink(instance_id="", batch_within_s=0.01)
    stop = threading.Event()
    first, second = (Reader(settings, place.topics, stop) for _ in range(2))
    read: set[tuple[str, int]] = set()

    def all_are_read() -> bool:
        first.read()
        read.update((lane.topic.name, lane.partition) for lane, _ in first.ready())
        return len(read) == 2

    def all_are_assigned() -> bool:
        first.serve(0.05)
        return len(first.assigned) == 2 * len(place.topics)

    def taken_by_the_second() -> bool:
        first.serve(0.01)
        second.serve(0.01)
        return bool(second.assigned)

    try:
        first.join()
        eventually(all_are_assigned, "an assignment")
        first.pause()
        second.join()
        eventually(taken_by_the_second, "the second to get its share")
        first.resume()
        second.leave()
        place.send("agent_steps", range(10))
        eventually(all_are_read, "both partitions to be read")
    finally:
        first.leave()
