"""Plug-in evaluators as a process: their verdicts are outputs like any other, and are made once."""

import asyncio
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tachograph.processors.errors import NoEvaluatorsError
from tachograph.processors.evaluate.plugins import EventEvaluator, Verdict
from tachograph.processors.evaluate.service import run_evaluators
from tachograph.processors.names import TopicNames
from tachograph.schemas.settings import Settings, load_settings
from tachograph.schemas.topics import ViolationKind, row_topic, violation_topic
from tests.processors.pipeline import PARTITIONS, Landed, Pipeline
from tests.processors.records import CODEC, run_of
from tests.sinks.running import eventually
from tests.status_pages import free_ports, get, is_ready, samples


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


class Absent:
    """Never answers."""

    name = "absent"
    timeout_s = 0.05

    async def evaluate(self, event: Mapping[str, Any]) -> Iterable[Verdict]:  # noqa: ARG002 - the protocol has it
        await asyncio.Event().wait()
        return []


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


def test_a_broker_that_is_away_is_told(tmp_path: Path) -> None:
    """The process is well and waits: a restart would not help."""
    port, nobody = free_ports()
    settings = load_settings(tmp_path, kafka={"bootstrap_servers": f"127.0.0.1:{nobody}"}, evaluate={"http_port": port})
    with _running(settings, TopicNames(), Strict()):
        eventually(lambda: get(port, "readyz") == (503, "Kafka does not answer\n"), "the sentence")
        assert get(port, "healthz") == (200, "ok\n")


@pytest.mark.stack
def test_evaluators_say_how_they_are(pipeline: Pipeline, servers: Settings) -> None:
    """Ready once a member; then each plug-in's answers, its errors and timeouts among them, and a lag of nothing."""
    port, _ = free_ports()
    changes = {"group_id": f"{pipeline.id}-evaluators", "http_port": port}
    settings = servers.model_copy(update={"evaluate": servers.evaluate.model_copy(update=changes)})
    _begin_at_the_start(settings, pipeline.names.events)
    events = [next(item for item in run_of(run_id) if item[0] == "DecisionEvent") for run_id in ("good", "odd")]
    with _running(settings, pipeline.names, Strict(), Absent()):
        eventually(lambda: is_ready(port), "to be a member")
        pipeline.publish(events)
        pipeline.wait_for_outputs(lambda seen: seen >= 4)

        def lags() -> list[float]:
            return [value for (name, _), value in samples(port).items() if name == "tachograph_evaluators_lag"]

        eventually(lambda: bool(lags()) and not any(lags()), "a lag of nothing")
        found = samples(port)
    counted = {
        labels: count for (name, labels), count in found.items() if name == "tachograph_evaluators_answers_total"
    }
    assert counted["timeout", "absent"] == 2
    assert counted["error", "strict"] >= 1
    assert counted["answered", "strict"] >= 1


def _begin_at_the_start(settings: Settings, topic: str) -> None:
    """A new group begins at the end; this one is to see what is there already."""
    consumer = Consumer(settings.kafka.client(**{"group.id": settings.evaluate.group_id}))
    consumer.commit(offsets=[TopicPartition(topic, number, 0) for number in range(PARTITIONS)], asynchronous=False)
    consumer.close()


@contextmanager
def _running(settings: Settings, names: TopicNames, *plugins: EventEvaluator) -> Iterator[list[BaseException]]:
    """The process in a thread. Yields what ended it, if anything did."""
    stop = threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            run_evaluators(settings, stop=stop, names=names, plugins=plugins)
        except BaseException as error:  # noqa: BLE001 - shown by the test's own thread
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield failures
    finally:
        stop.set()
        thread.join()
    assert failures == []


def _run_until(settings: Settings, pipeline: Pipeline, *, outputs: int) -> None:
    with _running(settings, pipeline.names, Strict()) as failures:
        pipeline.wait_for_outputs(lambda seen: seen >= outputs or bool(failures))


def _rows(pipeline: Pipeline, topic: str, schema: str) -> list[dict[str, Any]]:
    found: list[Landed] = [item for item in pipeline.landed() if item.topic == pipeline.names.output(topic)]
    return [CODEC.decode_as(schema, item.value) for item in found]
