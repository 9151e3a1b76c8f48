"""What the spool says in the log: each thing once a minute, and what a reader is to do."""

import logging
from pathlib import Path

import pytest

from tachograph.producers.spool import SpoolOptions, SpoolPublisher
from tachograph.producers.spool.complaints import Seldom
from tachograph.schemas.settings import KafkaSettings
from tests.producers.spool.conftest import Make, message
from tests.producers.spool.fakes import FakeBroker, FakeClock


def line(client: str, after: int, text: str = "Connect to ipv4#127.0.0.1:9092 failed: Connection refused") -> str:
    return f"FAIL [{client}] [thrd:127.0.0.1:9092/bootstrap]: {text} (after {after}ms in state CONNECT)"


def test_the_kafka_client_may_repeat_itself_once_a_minute(clock: FakeClock) -> None:
    """Which client object says it, and after how many milliseconds, makes it no news; another error does."""
    seldom = Seldom(clock)

    def is_shown(text: str) -> bool:
        return seldom.filter(logging.LogRecord("tachograph.spool.kafka", logging.ERROR, "", 0, text, (), None))

    assert is_shown(line("rdkafka#producer-1", 0))
    assert not is_shown(line("rdkafka#producer-1", 3))
    assert not is_shown(line("rdkafka#consumer-7", 0))
    assert is_shown(line("rdkafka#consumer-7", 0, "Connect to ipv4#127.0.0.1:9092 failed: Network is unreachable"))
    assert not is_shown("CONFWARN [rdkafka#producer-1]: property enable.gapless.guarantee is experimental")
    clock.now += 60
    assert is_shown(line("rdkafka#producer-1", 0))


def test_who_leaves_records_behind_says_where_they_wait(
    make: Make, broker: FakeBroker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And how they are sent; who leaves none says nothing."""
    broker.away = True
    publisher = make()
    publisher.publish(message(1))
    publisher.close(0)
    folder = tmp_path / "spool"
    assert f"1 records wait in {folder}" in caplog.text
    assert f"`tachograph spool drain {folder}`" in caplog.text
    caplog.clear()
    make().close(0)
    assert caplog.text == ""


def test_the_address_that_did_not_answer_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is the first thing that a newcomer gets wrong."""
    settings = KafkaSettings(bootstrap_servers="127.0.0.1:1")
    publisher = SpoolPublisher(SpoolOptions(folder=tmp_path), kafka=settings, start=False)
    publisher.publish(message(1))
    publisher.close(0)
    assert "the broker at 127.0.0.1:1 has not acknowledged them" in caplog.text
