"""An agent whose runs meet every fault there is, recorded by the real recorder; and what came of them."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from tachograph.console.database import Reader
from tachograph.producers import SystemErrorStop, Tracer, TracerOptions
from tachograph.producers.captures import CaptureKey
from tachograph.producers.publishing import Message, Publisher, PublisherStats, SpoolPublisher
from tachograph.producers.run import Run
from tachograph.schemas.headers import Header
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import CAPTURES
from tachograph.schemas.wire import Codec

POINTERS = """
SELECT trigger, kind, stored, artifact_id, hash, size_bytes, created_at, deleted_at
FROM snapshot_pointers WHERE agent_id = {agent:String} ORDER BY trigger, kind
"""
QUICK = {"TACHOGRAPH_SNAPSHOTS__GRACE_S": "1", "TACHOGRAPH_SINK__BATCH_WITHIN_S": "0.05"}
BOTH = ("prompt", "tool_output")


def timed_out() -> None:
    raise TimeoutError


def never_valid(_: object) -> None:
    raise ValueError


def repair(run: Run) -> None:
    run.schema_repair(1, validate=never_valid, repair=lambda value, _: value, max_attempts=1)


def loop(run: Run) -> None:
    for _ in range(2):
        run.tools.execute("read", {"path": "same"})


FAULTS: dict[str, Callable[[Run], Any]] = {
    "SYSTEM_ERROR": lambda run: run.system_error(MemoryError()),
    "schema_repair_failed": repair,
    "loop_guard": loop,
    "tool_error": lambda run: run.tools.execute("fail"),
    "tool_timeout": lambda run: run.tools.execute("slow"),
    "missing_pointer": lambda run: run.missing_pointer("artifact://gone"),
    "debug_request": lambda run: run.debug_snapshot(),
}
"""The six triggers; a tool's error and its timeout are one of them."""

SNAPSHOTS = sorted([*((trigger, kind) for trigger in FAULTS for kind in BOTH), *[("loop_guard", "tool_output")] * 2])
"""Trigger and kind of what these runs leave. The loop guard fires after the second equal call: more outputs."""

TOOLS: dict[str, Any] = {"read": lambda path: f"raw of {path}", "fail": lambda: 1 / 0, "slow": timed_out}


class WithoutCaptures:
    """A publisher whose captures never arrive, as if they had expired."""

    def __init__(self, inner: Publisher) -> None:
        self._inner = inner

    def publish(self, message: Message) -> None:
        if message.topic != CAPTURES.name:
            self._inner.publish(message)

    def flush(self, timeout: float) -> bool:
        return self._inner.flush(timeout)

    def close(self, timeout: float = 10.0) -> None:
        self._inner.close(timeout)

    def stats(self) -> PublisherStats:
        return self._inner.stats()


@contextmanager
def agent(settings: Settings, name: str, key: Path, *, lose: bool = False, **options: Any) -> Iterator[Tracer]:
    """A tracer on the real broker; when the block ends, all of its records are acknowledged."""
    spool = SpoolPublisher.from_settings(settings)
    publisher: Publisher = WithoutCaptures(spool) if lose else spool
    given = TracerOptions(loop_threshold=1, **options)
    yield Tracer(
        agent_id=name,
        agent_version="1",
        publisher=publisher,
        capture_key=CaptureKey.from_file(key),
        tools=TOOLS,
        options=given,
    )
    assert publisher.flush(30)
    publisher.close()


def record_fault(tracer: Tracer, trigger: str) -> None:
    with suppress(SystemErrorStop), tracer.start_run() as run, run.step("tool", "s"):
        run.model_call(lambda **_: "ok", model="m", messages=f"prompt of {trigger}")
        run.tools.execute("read", {"path": trigger})
        with suppress(ZeroDivisionError, TimeoutError, ValueError):
            FAULTS[trigger](run)


def rows(database: Reader, sql: str, name: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in database.rows(sql, {"agent": name})]


def written(settings: Settings, topic: str, schema: str, name: str) -> list[tuple[bytes, dict[str, Any], bytes]]:
    """Every message of an agent on a topic: its source, its row and its bytes, repeats included."""
    codec, found = Codec(), []
    consumer = Consumer(settings.kafka.client(**{"group.id": uuid.uuid4().hex, "enable.auto.commit": False}))
    try:
        for partition in range(settings.kafka.partitions):
            place = TopicPartition(topic, partition, 0)
            _, end = consumer.get_watermark_offsets(place, timeout=10)
            consumer.assign([place])
            at = 0
            while at < end:
                message = consumer.poll(10)
                assert message is not None
                assert message.error() is None
                at = (message.offset() or 0) + 1
                row = codec.decode_as(schema, message.value())
                if row["agent_id"] == name:
                    headers = dict(message.headers() or [])
                    found.append((headers.get(Header.SOURCE.value, b""), row, message.value() or b""))
    finally:
        consumer.close()
    return found  # type: ignore[return-value]  # as above
