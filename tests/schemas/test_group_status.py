"""What a member of a consumer group says of itself, by what the Kafka client told it."""

import json
from typing import Any

import pytest
from prometheus_client import REGISTRY, CollectorRegistry, Gauge

from tachograph.schemas.group_status import GroupStatus

AWAY = "Kafka does not answer"
OUTSIDE = "the test is not in its consumer group yet"


def told(
    broker: str = "UP", group: str = "up", join: str = "steady", places: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The parts that are read of a report of librdkafka."""
    return {
        "brokers": {"127.0.0.1:9092/1": {"state": broker}, "127.0.0.1:9092/bootstrap": {"state": "INIT"}},
        "cgrp": {"state": group, "join_state": join},
        "topics": {"events": {"partitions": places or {}}},
    }


def place(committed: int = -1001, read: int = -1001, end: int = -1001, fetch: str = "active") -> dict[str, Any]:
    return {"committed_offset": committed, "app_offset": read, "ls_offset": end, "fetch_state": fetch}


@pytest.mark.parametrize(
    ("reports", "waits_for"),
    [
        pytest.param([], OUTSIDE, id="nothing heard yet"),
        pytest.param([told("TRY_CONNECT", "query-coord", "init")], AWAY, id="no broker from the start"),
        pytest.param([told(group="wait-coord", join="init")], OUTSIDE, id="connected"),
        pytest.param([told(join="wait-join")], OUTSIDE, id="joining"),
        pytest.param([told()], None, id="a member"),
        pytest.param([told(), told("TRY_CONNECT", "query-coord")], AWAY, id="the broker has gone"),
        pytest.param([told("DOWN"), told()], None, id="the broker is back"),
    ],
)
def test_ready_is_a_member_with_a_broker(reports: list[dict[str, Any]], waits_for: str | None) -> None:
    """Whether it holds partitions or stands by; and a sentence if not."""
    status = GroupStatus("the test", silent_s=60)
    for report in reports:
        status.hear(json.dumps(report))
    assert status.not_ready() == waits_for


def test_a_new_consumer_is_in_no_group() -> None:
    """However well the one before it stood."""
    status = GroupStatus("the test", silent_s=60)
    status.hear(json.dumps(told()))
    status.trouble = "it was in trouble"
    hear = status.client()["stats_cb"]
    assert status.not_ready() == OUTSIDE
    hear(json.dumps(told()))
    assert status.not_ready() is None


def test_trouble_is_said_as_long_as_it_lasts() -> None:
    """After what is worse."""
    status = GroupStatus("the test", silent_s=60)
    status.trouble = "ClickHouse does not answer"
    assert status.not_ready() == OUTSIDE
    status.hear(json.dumps(told()))
    assert status.not_ready() == "ClickHouse does not answer"
    status.trouble = None
    assert status.not_ready() is None


def test_a_loop_that_stands_still_is_dead() -> None:
    """One that goes round in vain is not: a restart would not help."""
    now = [0.0]
    status = GroupStatus("the test", silent_s=60, clock=lambda: now[0])
    now[0] = 59
    assert status.dead() is None
    now[0] = 60
    assert status.dead() == "the test has not asked Kafka for anything for 60 s"
    status.go_round()
    assert status.dead() is None


def test_lag_is_that_of_the_partitions_held_now() -> None:
    """From what is committed, or else from where reading began; unknown ends and partitions of others are left out."""
    gauge = Gauge("lag_of_the_test", "Lag.", ("topic", "partition"), registry=CollectorRegistry())
    status = GroupStatus("the test", silent_s=60, lag=gauge)
    places = {
        "0": place(committed=5, read=9, end=12),
        "1": place(read=10, end=12),
        "2": place(committed=12, end=12),
        "3": place(end=12),
        "4": place(committed=5),
        "5": place(committed=5, end=12, fetch="none"),
    }
    status.hear(json.dumps(told(places=places)))
    status.metrics()
    assert lags(gauge) == {"0": 7, "1": 2, "2": 0}
    status.hear(json.dumps(told(places={"1": place(committed=12, end=12)})))
    status.metrics()
    assert lags(gauge) == {"1": 0}


def lags(gauge: Gauge) -> dict[str, float]:
    return {sample.labels["partition"]: sample.value for family in gauge.collect() for sample in family.samples}


def test_metrics_are_those_of_the_process() -> None:
    """Those that Prometheus' client adds, too."""
    served = GroupStatus("the test", silent_s=60).metrics().decode()
    assert all(family.name in served for family in REGISTRY.collect())
