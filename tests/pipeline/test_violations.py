"""Violations on their topics: followed by the command, and by the consumer that anyone may copy."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tachograph.console.violations import Tail
from tachograph.processors.violation_headers import violation_headers
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import ViolationKind, violation_topic
from tests.sinks.rows import encoded, sample_row

pytestmark = pytest.mark.stack

EXAMPLE = Path(__file__).parents[2] / "examples" / "alerting_consumer.py"


def violation(agent: str, number: int, kind: str = "policy", severity: str = "error") -> dict[str, Any]:
    return sample_row(
        "violations",
        number,
        violation_id=f"{agent}-{number}",
        agent_id=agent,
        trace_id=agent,
        kind=kind,
        severity=severity,
        code=f"{kind}.sample",
        message="what was broken",
        occurred_at=time.time_ns() // 1000,
    )


def publish(settings: Settings, rows: list[dict[str, Any]]) -> None:
    producer = Producer(settings.kafka.client())
    for row in rows:
        topic = violation_topic(ViolationKind(row["kind"]))
        producer.produce(topic, encoded("violations", row), row["trace_id"], headers=[*violation_headers(row)])
    assert producer.flush(30) == 0


@contextmanager
def running(command: list[str], settings: Settings) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, *command],
        env=os.environ | {"TACHOGRAPH_HOME": str(settings.home), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def tail(*arguments: str) -> list[str]:
    return ["-m", "tachograph.console.main", "violations", "tail", *arguments]


def started(process: "subprocess.Popen[str]") -> None:
    assert process.stderr is not None
    assert "following violations" in process.stderr.readline()


def test_tail_follows_from_now_and_ends_on_ctrl_c(stack: Settings) -> None:
    """Nothing from before, everything of the chosen kinds, severity and agent after, one JSON object a line."""
    agent = f"tail-{uuid.uuid4().hex[:8]}"
    publish(stack, [violation(agent, 0)])
    options = ("--kind", "policy", "--kind", "slo", "--severity", "warn", "--agent", agent, "--json")
    with running(tail(*options), stack) as process:
        started(process)
        after = [
            violation(f"{agent}-other", 1),
            violation(agent, 2, severity="info"),
            violation(agent, 3, "quality"),
            violation(agent, 4, "slo", "critical"),
            violation(agent, 5, "slo"),
        ]
        for row in after:
            publish(stack, [row])
        assert process.stdout is not None
        lines = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        rest, complaints = process.communicate(timeout=30)
        assert (process.returncode, rest) == (0, ""), complaints
    # Two topics' partitions are read side by side: only within one is there an order.
    assert sorted(line["violation_id"] for line in lines) == [f"{agent}-4", f"{agent}-5"]
    assert all(line["occurred_at"].endswith("Z") for line in lines)
    admin = AdminClient(stack.kafka.client())
    groups = admin.list_consumer_groups().result()
    assert not any("tail" in group.group_id for group in groups.valid), "it is a member of nothing"


def test_tail_goes_back_and_counts(stack: Settings) -> None:
    """``--since`` begins in the past, and ``--limit`` ends."""
    agent, before = f"tail-{uuid.uuid4().hex[:8]}", datetime.now(UTC)
    publish(stack, [violation(agent, number, "quality") for number in range(3)])
    options = ("--since", before.isoformat(), "--agent", agent, "--limit", "3")
    with running(tail(*options), stack) as process:
        shown, complaints = process.communicate(timeout=60)
        assert process.returncode == 0, complaints
    header, *lines = shown.splitlines()
    assert header.split() == ["time", "severity", "kind", "code", "agent", "run", "message"]
    assert [("quality.sample" in line, agent in line) for line in lines] == [(True, True)] * 3


def test_what_is_no_violation_is_passed_over(servers: Settings) -> None:
    """And counted, for the person who looks."""
    topic = f"t{uuid.uuid4().hex[:8]}.violations"
    admin = AdminClient(servers.kafka.client())
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    producer = Producer(servers.kafka.client())
    for value in (b"junk", None, encoded("agent_steps", sample_row("agent_steps", 0))):
        producer.produce(topic, value)
    producer.produce(topic, encoded("violations", violation("builder", 7)))
    assert producer.flush(30) == 0
    with Tail(servers.kafka, [topic], since=datetime.fromtimestamp(0, UTC)) as following:
        row = next(row for row in following.rows() if row is not None)
        assert (row["violation_id"], following.unreadable) == ("builder-7", 3)


def test_the_alerting_consumer_of_the_examples(stack: Settings) -> None:
    """Under thirty lines, and it delivers what is bad enough, and after a restart what came meanwhile.

    Its last alert may come again: Ctrl-C may fall between the line and the offset.
    """
    assert len(EXAMPLE.read_text().splitlines()) < 30
    group = f"alerts-{uuid.uuid4().hex[:8]}"
    rows = [violation(group, number, severity="warn" if number == 1 else "critical") for number in range(3)]
    publish(stack, rows)
    assert alerts(stack, group, rows[-1:]) == [f"{group}-0", f"{group}-2"]
    later = violation(group, 3)
    publish(stack, [later])
    assert alerts(stack, group, [later]) in ([f"{group}-3"], [f"{group}-2", f"{group}-3"])


def alerts(settings: Settings, group: str, until: list[dict[str, Any]]) -> list[str]:
    """Ids of this test's alerts, up to the last expected; then the consumer is ended with Ctrl-C, and commits."""
    found: list[str] = []
    with running([str(EXAMPLE), group], settings) as process:
        assert process.stdout is not None
        while until[-1]["violation_id"] not in found:
            line = process.stdout.readline()
            assert line, process.stderr and process.stderr.read()
            if line.startswith(group):
                found.append(line.split()[0])
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=30)
        assert process.returncode == 0, complaints
    return sorted(found)
