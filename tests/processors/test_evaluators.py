"""Plug-in evaluators as a process: their verdicts are outputs like any other, and are made once."""

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tachograph.processors.errors import NoEvaluatorsError
from tachograph.processors.evaluate.plugins import Verdict
from tachograph.processors.evaluate.service import run_evaluators
from tachograph.schemas.settings import Settings, load_settings
from tachograph.schemas.topics import ViolationKind, row_topic, violation_topic
from tests.processors.pipeline import PARTITIONS, Landed, Pipeline
from tests.processors.records import CODEC, run_of


class Strict:
    """Finds fault with every event of one run, and raises on another."""

    name = "strict"
    timeout_s = 5.0

    def evaluate(self, event: Mapping[str, Any]) -> Iterable[Verdict]:
        if event["run_id"] == "odd":
            raise RuntimeError("text that must go nowhere")
        if event["run_id"] == "bad":
            return [Verdict("quality", "tidy", "fail", "the event is untidy")]
        return [Verdict("quality", "tidy", "pass")]


def test_a_process_without_evaluators_says_what_to_do(tmp_path: Path) -> None:
    """Before it asks anything of a broker."""
    with pytest.raises(NoEvaluatorsError, match="TACHOGRAPH_JUDGE__URL"):
        run_evaluators(load_settings(tmp_path), stop=threading.Event(), plugins=[])


@pytest.mark.stack
def test_verdicts_become_rows_and_violations_once(pipeline: Pipeline, servers: Settings) -> None:
    """A pass, a fail and an error; a restart makes nothing again."""
    settings = servers.model_copy(
        update={"evaluate": servers.evaluate.model_copy(update={"group_id": f"{pipeline.id}-evaluators"})}
    )
    _begin_at_the_start(settings, pipeline.names.events)
    runs = {
        run_id: [item for item in run_of(run_id) if item[0] == "DecisionEvent"][:1] for run_id in ("good", "bad", "odd")
    }
    for events in runs.values():
        pipeline.publish(events)
    _run_until(settings, pipeline, outputs=4)
    rows = {row["run_id"]: row for row in _rows(pipeline, row_topic("evaluations"), "rows.evaluations")}
    assert {run_id: (row["quality_status"], row["alignment_status"], row["rules"]) for run_id, row in rows.items()} == {
        "good": ("pass", "unknown", "plugin:strict"),
        "bad": ("fail", "unknown", "plugin:strict"),
        "odd": ("unknown", "unknown", "plugin:strict"),
    }
    assert "text that must go nowhere" not in str(rows)
    [violation] = _rows(pipeline, violation_topic(ViolationKind.QUALITY), "rows.violations")
    assert (violation["run_id"], violation["code"], violation["verdict"]) == ("bad", "quality.strict.tidy", "fail")
    before = pipeline.landed()
    pipeline.publish(run_of("later")[:3])
    _run_until(settings, pipeline, outputs=5)
    assert [item for item in pipeline.landed() if b"later" not in (item.key or b"")] == before


def _begin_at_the_start(settings: Settings, topic: str) -> None:
    """A new group begins at the end; this one is to see what is there already."""
    consumer = Consumer(settings.kafka.client(**{"group.id": settings.evaluate.group_id}))
    consumer.commit(offsets=[TopicPartition(topic, number, 0) for number in range(PARTITIONS)], asynchronous=False)
    consumer.close()


def _run_until(settings: Settings, pipeline: Pipeline, *, outputs: int) -> None:
    stop = threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            run_evaluators(settings, stop=stop, names=pipeline.names, plugins=[Strict()])
        except BaseException as error:  # noqa: BLE001 - shown by the test's own thread
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        pipeline.wait_for_outputs(lambda seen: seen >= outputs or bool(failures))
    finally:
        stop.set()
        thread.join()
    assert failures == []


def _rows(pipeline: Pipeline, topic: str, schema: str) -> list[dict[str, Any]]:
    found: list[Landed] = [item for item in pipeline.landed() if item.topic == pipeline.names.output(topic)]
    return [CODEC.decode_as(schema, item.value) for item in found]
