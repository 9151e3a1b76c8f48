"""Worker events/s, every built-in check on, against a plain consumer that only decodes the same events."""

import os
import subprocess
import sys
import time
from pathlib import Path

from confluent_kafka import Consumer

from benchmarks.evaluate import every_check
from benchmarks.report import Ratio, Result
from benchmarks.workload import decision_events, load, steady_rate, stored
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import EVENTS, row_topic
from tachograph.schemas.wire import Codec

EVENTS_COUNT = 20_000
RUNS = 200
GOAL = 0.10


def measure(settings: Settings, folder: Path) -> list[Result]:
    """Load the events once; read them plainly, with the worker, and plainly again."""
    load(settings, EVENTS.name, ({"key": key, "value": value} for key, value in decision_events(EVENTS_COUNT, RUNS)))
    before = plain_rate(settings, "bench-plain-1")
    rate = worker_rate(settings, folder)
    after = plain_rate(settings, "bench-plain-2")
    reference = (before + after) / 2
    return [Ratio("worker with every check", rate, "plain consumer that decodes", reference, GOAL, "events/s")]


def plain_rate(settings: Settings, group: str) -> float:
    """Consume and decode everything, nothing else."""
    consumer = Consumer(settings.kafka.client(**{"group.id": group, "auto.offset.reset": "earliest"}))
    consumer.subscribe([EVENTS.name])
    codec, seen, started = Codec(), 0, 0.0
    try:
        while seen < EVENTS_COUNT:
            for message in consumer.consume(1000, 1.0):
                if not started:
                    started = time.perf_counter()
                codec.decode(message.value())
                seen += 1
    finally:
        consumer.close()
    return seen / (time.perf_counter() - started)


def worker_rate(settings: Settings, folder: Path) -> float:
    """Run the worker as its own process until every event has its row."""
    rules = {"TACHOGRAPH_EVALUATE__RULES": str(every_check(folder / "rules"))}
    environment = os.environ | {"TACHOGRAPH_HOME": str(settings.home)} | rules
    with (folder / "worker.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tachograph.console.main", "worker", "--instance", "bench"],
            env=environment, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            topic = row_topic("decision_events")
            return steady_rate(lambda: stored(settings, topic), EVENTS_COUNT)
        finally:
            process.terminate()
            process.wait(30)
