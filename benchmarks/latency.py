"""From publishing a faulty event to its violation on the topic, at a steady rate."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final, Self

from confluent_kafka import Consumer, Producer, TopicPartition
from tests.schemas import samples

from benchmarks.report import Figure, Result, Skipped
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import EVENTS, ViolationKind, violation_topic
from tachograph.schemas.wire import Codec, to_avro

RATE: Final = 500
"""Events per second."""
SECONDS: Final = 20
WARM_UP_S: Final = 3
"""Left out: the first batches compile regular expressions and fill caches."""
BOUND_S: Final = 30.0
"""How long to wait for the first violation, and after the last event for the rest."""
GOAL_MS: Final = 500.0
TOPIC: Final = violation_topic(ViolationKind.OBSERVABILITY)
LABEL: Final = "bench-latency-"


def measure(settings: Settings, folder: Path) -> list[Result]:
    """Publish events without a capture mode, and time each until its violation can be read."""
    environment = os.environ | {"TACHOGRAPH_HOME": str(settings.home)}
    name = f"violations after publishing, p99 at {RATE} events/s"
    with (folder / "worker-latency.log").open("wb") as log:
        worker = subprocess.Popen(
            [sys.executable, "-m", "tachograph.console.main", "worker", "--instance", "bench"],
            env=environment, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            with Seen(settings) as seen:
                published = publish(settings, 0, 1)
                if not seen.wait_for(set(published)):
                    return [Skipped(name, f"no violation of {TOPIC} came within {BOUND_S:.0f} s of a faulty event")]
                published = publish(settings, 1, RATE * (SECONDS + WARM_UP_S))
                if not seen.wait_for(set(published)):
                    missing = len(set(published) - seen.at.keys())
                    raise RuntimeError(f"{missing} of {len(published)} violations did not come within {BOUND_S:.0f} s")
        finally:
            worker.terminate()
            worker.wait(30)
    waits = sorted((seen.at[event] - at) * 1000 for event, at in list(published.items())[RATE * WARM_UP_S :])
    p99, p50 = waits[int(len(waits) * 0.99)], waits[len(waits) // 2]
    return [Figure(f"{name} (p50 {p50:,.0f} ms)", p99, GOAL_MS, "ms", at_most=True)]


def publish(settings: Settings, first: int, count: int) -> dict[str, float]:
    """Publish faulty events at the rate, and say when each was handed over."""
    producer = Producer(settings.kafka.client(**{"partitioner": "murmur2_random", "linger.ms": 5}))
    codec, template = Codec(), to_avro(samples.DECISION_EVENT)
    template["prompt_provenance"] = template["prompt_provenance"] | {"capture_mode": None}
    published: dict[str, float] = {}
    begin = time.perf_counter()
    for number in range(first, first + count):
        event, run = f"{LABEL}{number:08}", f"{LABEL}run-{number % 100:04}"
        names = {"event_id": event, "trace_id": run, "run_id": run, "span_id": f"{number:016x}"}
        record = template | names | {"seq": number // 100}
        value = codec.encode("DecisionEvent", record)
        producer.poll(max(0.0, begin + (number - first) / RATE - time.perf_counter()))
        published[event] = time.perf_counter()
        producer.produce(EVENTS.name, value, run)
    producer.flush(30)
    return published


class Seen:
    """Reads the violations in a thread, and remembers when the first of each event came."""

    def __init__(self, settings: Settings) -> None:
        self.at: dict[str, float] = {}
        self._consumer = Consumer(
            settings.kafka.client(**{"group.id": "bench-latency", "enable.auto.commit": False, "fetch.wait.max.ms": 10})
        )
        self._consumer.assign([TopicPartition(TOPIC, each, 0) for each in range(settings.kafka.partitions)])
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._thread.join()
        self._consumer.close()

    def wait_for(self, events: set[str]) -> bool:
        """Wait until all have come, or no more are to be expected."""
        until = time.monotonic() + BOUND_S
        while not events <= self.at.keys() and time.monotonic() < until:
            time.sleep(0.05)
        return events <= self.at.keys()

    def _read(self) -> None:
        codec = Codec()
        while not self._over.is_set():
            for message in self._consumer.consume(1000, 0.01):
                event = codec.decode_as("rows.violations", message.value())["event_id"] or ""
                if event.startswith(LABEL):
                    self.at.setdefault(event, time.perf_counter())
