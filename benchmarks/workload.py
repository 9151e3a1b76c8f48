"""Realistic events of about 2 KB, and rows made of them, loaded into topics of a real broker."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from tests.schemas import samples

from tachograph.processors.rows import ROWS_BY_TYPE
from tachograph.schemas.headers import Header, SourceCoordinates, stream_name
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import EVENTS
from tachograph.schemas.wire import Codec, to_avro

LOOK_EVERY_S = 0.25
"""Looking costs the servers something too: without a pause it took most of a core."""

PROSE = "The parser drops the last token of a line that ends in a comment; the test expects it to be kept. "


FAULTY_ONE_IN = 50
"""Events of which one breaks a rule: its output is prose where JSON was asked for."""


def decision_events(count: int, runs: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of DecisionEvents of about 2 KB, of agents that mostly do as they should."""
    codec, template = Codec(), to_avro(samples.DECISION_EVENT)
    template["prompt_provenance"]["prompt_bundle"]["messages"][2]["content"] = PROSE * 8
    request = template["request"]
    template["request"] = request | {"context": request["context"] | {"branch": "fix/parser"}}
    outputs = [template["model_output"] | {"output_raw": text} for text in (PROSE * 3, f'{{"plan": "{PROSE * 3}"}}')]
    for number in range(count):
        run_id, trace_id = f"bench-run-{number % runs:08}", f"trace-{number % runs:08}"
        names = {"event_id": f"bench-{number:012}", "run_id": run_id, "trace_id": trace_id, "span_id": f"{number:016x}"}
        record = template | names | {"seq": number // runs, "session": template["session"] | {"run_id": run_id}}
        record["model_output"] = outputs[number % FAULTY_ONE_IN > 0]
        yield trace_id.encode(), codec.encode("DecisionEvent", record)


def tool_call_rows(count: int, partitions: int) -> Iterator[tuple[int, bytes, list[tuple[str, bytes]]]]:
    """Partition, value and headers of rows as the worker writes them."""
    codec = Codec()
    ((table, template),) = ROWS_BY_TYPE["ToolCallRecord"](to_avro(samples.TOOL_CALL_RECORD), 1_700_000_000_000_000)
    for number in range(count):
        partition, offset = number % partitions, number // partitions
        source = SourceCoordinates(offset, 0, stream_name(EVENTS.name, partition)).to_bytes()
        row = template | {"event_id": f"bench-{number:012}", "seq": number}
        yield partition, codec.encode(f"rows.{table}", row), [(Header.SOURCE.value, source)]


def event_rows(count: int, partitions: int) -> Iterator[tuple[int, bytes, list[tuple[str, bytes]]]]:
    """As :func:`tool_call_rows`, of events of about 2 KB."""
    codec = Codec()
    for number, (_, value) in enumerate(decision_events(count, count // 100)):
        rows = dict(ROWS_BY_TYPE["DecisionEvent"](codec.decode(value).record, 1_700_000_000_000_000))
        partition, offset = number % partitions, number // partitions
        source = SourceCoordinates(offset, 0, stream_name(EVENTS.name, partition)).to_bytes()
        yield partition, codec.encode("rows.decision_events", rows["decision_events"]), [(Header.SOURCE.value, source)]


def load(settings: Settings, topic: str, messages: Iterable[dict[str, Any]]) -> int:
    """Produce all messages and wait for the broker."""
    producer = Producer(
        settings.kafka.client(**{"partitioner": "murmur2_random", "linger.ms": 20, "compression.type": "zstd"})
    )
    count = 0
    for message in messages:
        while True:
            try:
                producer.produce(topic, **message)
                break
            except BufferError:
                producer.poll(0.1)
        count += 1
    if producer.flush(120):
        raise RuntimeError("the broker did not take the workload")
    return count


def stored(settings: Settings, topic: str) -> int:
    """Messages in a topic."""
    consumer = Consumer(settings.kafka.client(**{"group.id": "bench-watermarks"}))
    try:
        ends = [
            consumer.get_watermark_offsets(TopicPartition(topic, each)) for each in range(settings.kafka.partitions)
        ]
    finally:
        consumer.close()
    return sum(end - start for start, end in ends)


def steady_rate(progress: Callable[[], int], total: int, *, timeout_s: float = 600.0) -> float:
    """Units per second from the first one seen to the last, so that starting up does not count."""
    deadline, first, first_at = time.monotonic() + timeout_s, 0, 0.0
    while True:
        seen, now = progress(), time.monotonic()
        if seen and not first:
            first, first_at = seen, now
        if seen >= total:
            return (seen - first) / (now - first_at) if seen > first else float("nan")
        if now > deadline:
            raise RuntimeError(f"only {seen} of {total} within {timeout_s:.0f} s")
        time.sleep(LOOK_EVERY_S)
