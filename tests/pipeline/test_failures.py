"""A reference run for each of the six failures to observe: from a raw Avro record to a query and a message."""

import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from tachograph.console.database import reader
from tachograph.processors.failures import Failure
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import EVENTS, ViolationKind, violation_topic
from tachograph.schemas.wire import Codec, to_avro
from tests.pipeline.processes import pipeline, wait_for
from tests.schemas import samples

CODEC = Codec()
EVENT = to_avro(samples.DECISION_EVENT) | {"parent_span_id": None}
PROVENANCE = EVENT["prompt_provenance"]
SILENT = EVENT["model_output"] | {"tool_calls": []}
QUIET = EVENT["agent_action"] | {"tool_results": []}
"""An event that asks for no tool."""

SIX = {
    Failure.MISSING_PROMPT_BUNDLE: {"prompt_provenance": PROVENANCE | {"prompt_bundle": None, "bundle_pointer": None}},
    Failure.MISSING_CORRELATION_IDS: {"span_id": None},
    Failure.MISSING_CAPTURE_MODE: {"prompt_provenance": PROVENANCE | {"capture_mode": None}},
    Failure.MISSING_EVALUATION: {"evaluation": None},
    Failure.UNRECORDED_TRANSFORMATION: {"prompt_provenance": PROVENANCE | {"sent_hash": "0" * 64}},
    Failure.MISSING_TOOL_RESULT: {"model_output": EVENT["model_output"]},
}
"""What is wrong with the one event of each run."""


def run_with(run_id: str, changes: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Start, one event, end: as a foreign producer might write them."""
    event = EVENT | {"model_output": SILENT, "agent_action": QUIET} | changes
    event["session"] = event["session"] | {"run_id": run_id}
    end = to_avro(samples.RUN_ENDED) | {"emitted": 3, "dropped": 0}
    records = [("RunStarted", to_avro(samples.RUN_STARTED)), ("DecisionEvent", event), ("RunEnded", end)]
    return [
        (name, record | {"run_id": run_id, "trace_id": f"t-{run_id}", "seq": seq, "event_id": f"{run_id}-{seq}"})
        for seq, (name, record) in enumerate(records)
    ]


@pytest.mark.stack
def test_each_of_the_six_is_queryable_and_published(stack: Settings, tmp_path: Path) -> None:
    """Exactly one violation for each run, in the table and on the topic, about the event that broke the promise."""
    label = f"six-{uuid.uuid4().hex[:8]}"
    runs = {f"{label}-{failure.name.lower()}": (failure, changes) for failure, changes in SIX.items()}
    producer = Producer(stack.kafka.client(partitioner="murmur2_random"))
    for run_id, (_, changes) in runs.items():
        for name, record in run_with(run_id, changes):
            producer.produce(EVENTS.name, key=record["trace_id"].encode(), value=CODEC.encode(name, record))
    assert producer.flush(30) == 0
    expected = {(run_id, failure.code, f"{run_id}-1") for run_id, (failure, _) in runs.items()}
    sql = (
        "SELECT run_id, code, event_id, violation_id FROM violations "
        "WHERE startsWith(run_id, {label:String}) AND kind = 'observability'"
    )
    with reader(stack) as database, pipeline(stack, tmp_path) as parts:

        def found() -> list[tuple[Any, ...]]:
            return [tuple(row) for row in database.rows(sql, {"label": label})]

        wait_for(lambda: len(found()) >= len(expected), lambda: f"violations: {found()}", *parts)
        rows = found()
    assert {row[:3] for row in rows} == expected
    assert len(rows) == len(expected)
    assert published(stack, label, len(expected)) == {(row[0], row[1], row[3]) for row in rows}


def published(stack: Settings, label: str, count: int) -> set[tuple[str, str, str]]:
    """Run, code and id of our violations on the topic."""
    consumer = Consumer(
        stack.kafka.client(**{"group.id": label, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    )
    seen: set[tuple[str, str, str]] = set()
    try:
        consumer.subscribe([violation_topic(ViolationKind.OBSERVABILITY)])
        while len(seen) < count:
            message = consumer.poll(30)
            assert message is not None, f"only {sorted(seen)}"
            assert message.error() is None, message.error()
            row = CODEC.decode_as("rows.violations", message.value())
            if row["run_id"].startswith(label):
                seen.add((row["run_id"], row["code"], row["violation_id"]))
    finally:
        consumer.close()
    return seen
