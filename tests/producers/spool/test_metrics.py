"""The publisher's counts for Prometheus, under the names of the registry."""

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from tachograph.producers.spool.metrics import SpoolMetrics
from tachograph.schemas.errors import ConfigError
from tests.producers.spool.conftest import Make, message, turn_until_quiet
from tests.producers.spool.fakes import FakeBroker


def test_what_became_of_the_records(make: Make, broker: FakeBroker) -> None:
    """Spooled, sent, acknowledged, dropped, and the bytes that wait: asked when somebody looks."""
    publisher = make(max_message_bytes=1000)
    registry = CollectorRegistry()
    registry.register(SpoolMetrics(publisher))
    for number in range(3):
        publisher.publish(message(number))
    turn_until_quiet(publisher)
    broker.away = True
    publisher.publish(message(3))
    with pytest.raises(Exception, match="over the limit"):
        publisher.publish(message(4)._replace(value=bytes(2000)))

    def value(state: str) -> float | None:
        return registry.get_sample_value("tachograph_spool_records_total", {"state": state})

    assert {state: value(state) for state in ("spooled", "acknowledged", "dropped", "rejected")} == {
        "spooled": 4,
        "acknowledged": 3,
        "dropped": 1,
        "rejected": 0,
    }
    assert value("sent") == 3
    assert registry.get_sample_value("tachograph_spool_bytes") == publisher.stats().bytes_waiting > 0
    assert b"# HELP tachograph_spool_bytes Bytes waiting in the spool." in generate_latest(registry)


def test_without_the_client_it_says_what_to_install(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not among the recorder's own dependencies."""
    monkeypatch.setitem(__import__("sys").modules, "prometheus_client.core", None)
    with pytest.raises(ConfigError, match="pip install prometheus-client"):
        SpoolMetrics(make())
