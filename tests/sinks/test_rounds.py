"""kill -9 of the sink and of ClickHouse at each step of an insert, round after round: nothing lost, nothing twice.

``TACHOGRAPH_TEST_KILL_ROUNDS`` says how many rounds there are in all; half of them are the sink's.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tachograph.schemas.settings import Settings
from tachograph.sinks.clickhouse import SINK_TOPICS, migrate
from tests.containers import use_containers
from tests.sinks.conftest import Place, open_place
from tests.sinks.mortal_clickhouse import MortalClickHouse, mortal_clickhouse
from tests.sinks.proxy import Proxy
from tests.sinks.running import eventually, running_sink
from tests.sinks.sink_rounds import doomed_sinks

pytestmark = [
    pytest.mark.stack,
    pytest.mark.timeout(600),
    pytest.mark.skipif(use_containers(), reason="kills a server of its own, which is the local stack's"),
]

ROUNDS = int(os.environ.get("TACHOGRAPH_TEST_KILL_ROUNDS", "12"))
STEPS = ("planned", "inserted", "finished")
"""The plan is committed, the rows are inserted, the end is committed."""
TABLES = frozenset({"agent_steps", "dead_letters"})
ROWS = 40
"""Rows of a round: at least two inserts for each partition."""


@pytest.fixture(scope="module")
def clickhouse(servers: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MortalClickHouse]:
    """A server of our own, in which nothing is merged: a merge would hide a row that landed twice."""
    with mortal_clickhouse(tmp_path_factory.mktemp("mortal"), servers) as server:
        migrate(server.settings)
        server.migrator_command(
            "ALTER TABLE tachograph.agent_steps MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1, "
            "max_bytes_to_merge_at_min_space_in_pool = 1"
        )
        yield server


@pytest.fixture
def place(clickhouse: MortalClickHouse, tmp_path: Path) -> Iterator[Place]:
    clickhouse.wait()
    topics = tuple(topic for topic in SINK_TOPICS if topic.table in TABLES)
    found = open_place(clickhouse.settings, tmp_path.name, topics)
    found.settings = found.with_sink(batch_rows=10, batch_within_s=0.02)
    yield found
    found.console.close()


def test_the_sink_is_killed_at_each_step(place: Place) -> None:
    """Each round sends rows and ends with a kill; some rounds die while they repeat what an earlier one began."""
    chance = Random(11)  # noqa: S311 - a schedule
    rounds = ROUNDS - ROUNDS // 2
    with doomed_sinks(place.settings, place.topics) as doom:
        for number in range(rounds):
            place.send("agent_steps", range(number * ROWS, (number + 1) * ROWS))
            assert doom(STEPS[number % len(STEPS)], chance.randint(1, 2)) == signal.SIGKILL
    total = rounds * ROWS
    with running_sink(place.settings, place.topics):
        eventually(lambda: len(set(place.numbers("agent_steps"))) == total, "all rows")
    assert place.numbers("agent_steps") == list(range(total))


def test_clickhouse_is_killed_at_each_step(place: Place, clickhouse: MortalClickHouse) -> None:
    """The same steps, and a fourth: rows that were taken, an answer that was lost, and a server that died with it.

    One sink lives through all of it and is never told.
    """
    rounds, steps = ROUNDS // 2, (*STEPS, "unanswered")
    address = clickhouse.settings.clickhouse
    with Proxy(address.host, address.http_port) as proxy:
        through = address.model_copy(update={"http_port": proxy.port})
        fatal, kills = [""], [0]

        def die() -> None:
            fatal[0] = ""
            clickhouse.kill()
            kills[0] += 1
            clickhouse.start()

        def moment(name: str) -> None:
            if fatal[0] == "unanswered" and name == "planned":
                proxy.lose_answers(1)
            elif name == fatal[0]:
                die()

        proxy.on_loss = die
        with running_sink(place.settings.model_copy(update={"clickhouse": through}), place.topics, moment=moment):
            for number in range(rounds):
                fatal[0] = steps[number % len(steps)]
                place.send("agent_steps", range(number * ROWS, (number + 1) * ROWS))
                eventually(lambda least=number: kills[0] > least, "the kill")  # type: ignore[misc]
            clickhouse.wait()
            eventually(lambda: len(set(place.numbers("agent_steps"))) == rounds * ROWS, "all rows")
    assert place.numbers("agent_steps") == list(range(rounds * ROWS))
    assert proxy.lost == sum(steps[number % len(steps)] == "unanswered" for number in range(rounds))
