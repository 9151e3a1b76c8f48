"""Servers away, wrong passwords, missing things: wait for what passes, stop with a sentence for the rest."""

import threading
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from tachograph.schemas.settings import Settings
from tachograph.sinks.clickhouse import run_sink
from tachograph.sinks.errors import (
    FencedError,
    MissingGrantError,
    MissingTableError,
    MissingTopicError,
    StopError,
    UnreachableAtStartError,
    WrongPasswordError,
)
from tests.sinks.conftest import Place
from tests.sinks.proxy import Proxy
from tests.sinks.running import eventually, running_sink

pytestmark = pytest.mark.stack


def with_clickhouse(settings: Settings, **changes: Any) -> Settings:
    return settings.model_copy(update={"clickhouse": settings.clickhouse.model_copy(update=changes)})


def test_clickhouse_goes_away_and_comes_back(place: Place) -> None:
    """Connections are refused for a while, in the middle of the flow; the sink neither exits nor loses a row."""
    clickhouse = place.settings.clickhouse
    with Proxy(clickhouse.host, clickhouse.http_port) as proxy:
        settings = with_clickhouse(place.with_sink(batch_rows=20), http_port=proxy.port)
        with running_sink(settings, place.topics):
            place.send("agent_steps", range(200))
            eventually(lambda: place.count("agent_steps") >= 40, "the first rows")
            proxy.close_door()
            place.send("agent_steps", range(200, 400))
            eventually(lambda: proxy.refused >= 3, "the sink to try in vain")
            proxy.open_door()
            eventually(lambda: place.count("agent_steps") >= 400, "all rows")
    assert place.numbers("agent_steps") == list(range(400))


def test_an_answer_that_is_lost_does_not_land_a_row_twice(place: Place) -> None:
    """ClickHouse takes the insert and the connection breaks before it can say so. The token tells."""
    clickhouse = place.settings.clickhouse
    with Proxy(clickhouse.host, clickhouse.http_port) as proxy:
        settings = with_clickhouse(place.with_sink(batch_rows=20), http_port=proxy.port)
        with running_sink(settings, place.topics):
            place.send("agent_steps", range(40))
            eventually(lambda: place.count("agent_steps") == 40, "the first rows")
            proxy.lose_answers(3)
            place.send("agent_steps", range(40, 100))
            eventually(lambda: place.count("agent_steps") >= 100 and proxy.lost == 3, "all rows")
    assert place.numbers("agent_steps") == list(range(100))


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        pytest.param({"sink_password": SecretStr("wrong-one")}, WrongPasswordError, "PASSWORD", id="wrong password"),
        pytest.param({"http_port": 1}, UnreachableAtStartError, "http_port", id="nothing listens there"),
    ],
)
def test_clickhouse_that_does_not_let_us_in_stops_the_sink(
    place: Place, changes: dict[str, Any], error: type[StopError], says: str
) -> None:
    """At the start, with a sentence that says what to do and no password in it."""
    with pytest.raises(error, match=says) as raised:
        run_sink(with_clickhouse(place.settings, **changes), stop=threading.Event(), topics=place.topics)
    assert "wrong-one" not in str(raised.value)


def test_a_database_without_our_tables_stops_the_sink(place: Place) -> None:
    """In the middle of the first cycle: nothing is committed as landed."""
    place.send("agent_steps", range(3))
    settings = with_clickhouse(place.settings, database="nobody_made_this")
    # The account may not even ask whether that database exists, so ClickHouse speaks of a missing grant.
    with pytest.raises((MissingGrantError, MissingTableError)):
        run_sink(settings, stop=threading.Event(), topics=place.topics)
    with running_sink(place.settings, place.topics):
        eventually(lambda: place.count("agent_steps") == 3, "the rows, by a sink that is set up right")


def test_kafka_that_is_not_there_or_has_no_topics_stops_the_sink(place: Place) -> None:
    """Each with its sentence."""
    kafka = place.settings.kafka.model_copy(update={"request_timeout_ms": 1000})
    unknown = [replace(topic, name=f"{topic.name}.gone") for topic in place.topics]
    with pytest.raises(MissingTopicError, match="topics apply"):
        run_sink(place.settings.model_copy(update={"kafka": kafka}), stop=threading.Event(), topics=unknown)
    kafka = kafka.model_copy(update={"bootstrap_servers": "127.0.0.1:1"})
    with pytest.raises(UnreachableAtStartError, match="bootstrap_servers"):
        run_sink(place.settings.model_copy(update={"kafka": kafka}), stop=threading.Event(), topics=place.topics)


def test_a_second_sink_under_the_same_instance_id_replaces_the_first(place: Place) -> None:
    """The first stops with a sentence; the second goes on, and every row is there once."""
    raised: list[FencedError] = []

    def first() -> None:
        try:
            run_sink(place.settings, stop=threading.Event(), topics=place.topics)
        except FencedError as error:
            raised.append(error)

    thread = threading.Thread(target=first)
    thread.start()
    place.send("agent_steps", range(10))
    eventually(lambda: place.count("agent_steps") == 10, "the first sink to work")
    with running_sink(place.settings, place.topics):
        place.send("agent_steps", range(10, 30))
        eventually(lambda: place.count("agent_steps") >= 30, "the second sink to work")
        thread.join()
    assert "instance_id" in str(raised[0])
    assert place.numbers("agent_steps") == list(range(30))
