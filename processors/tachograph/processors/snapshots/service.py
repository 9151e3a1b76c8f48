"""The snapshot step as a process: faults and samples in, artifacts and rows out.

It stands beside the worker and not in it, because an object store answers in tens of milliseconds where the worker has
tenths of one: a slow store delays snapshots, never verdicts. The order is the worker's: artifacts stored, outputs
acknowledged, then the offsets committed. A repeat gives the same artifacts and outputs under the same coordinates, on
streams of its own, and the sink drops them.
"""

import asyncio
import logging
import threading
from collections.abc import Sequence
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka import Message as KafkaMessage

from tachograph.processors.deadletters import Headers, Message
from tachograph.processors.errors import WorkerCrashedError
from tachograph.processors.names import TopicNames
from tachograph.processors.outputs import Outputs
from tachograph.processors.snapshots import metrics
from tachograph.processors.snapshots.captures import CaptureIndex, read_part
from tachograph.processors.snapshots.copier import SnapshotCopier
from tachograph.processors.snapshots.reader import KafkaCaptures
from tachograph.processors.snapshots.removals import publish_removals
from tachograph.processors.snapshots.requests import SnapshotRequest, of_failure, of_sample
from tachograph.processors.snapshots.retention import keep_retention
from tachograph.processors.snapshots.rows import SLOTS, SnapshotOutput
from tachograph.processors.violation_headers import violation_headers
from tachograph.schemas.errors import WireError
from tachograph.schemas.group_status import GroupStatus
from tachograph.schemas.headers import Header, SourceCoordinates, stream_name
from tachograph.schemas.settings import Settings
from tachograph.schemas.status_server import StatusServer
from tachograph.schemas.topics import CAPTURES
from tachograph.schemas.wire import Codec
from tachograph.schemas.wire.registry import ConfluentRegistry
from tachograph.sinks.artifacts import ArtifactStore, open_store

__all__ = ["run_snapshots"]

log = logging.getLogger(__name__)

_POLL_S: Final = 0.2
_SILENT_S: Final = 600.0
"""Time without a round of the loop after which it counts as hung, and Kafka gives its partitions away."""
_STREAM: Final = "#snapshots"
"""What the streams of this step are called: the topic read, and this."""

Asked = tuple[str, int, list[SnapshotRequest]]
"""Topic and offset of a message, and what it asks for."""


def run_snapshots(
    settings: Settings, *, stop: threading.Event, names: TopicNames | None = None, store: ArtifactStore | None = None
) -> None:
    """Run until ``stop`` is set; then finish the batch and leave the group."""
    opened = store or open_store(settings, create_keys=True)
    status, own = GroupStatus("the snapshot step", silent_s=_SILENT_S, lag=metrics.LAG), settings.snapshots
    with StatusServer.at(own.http_host, own.http_port, status, setting="TACHOGRAPH_SNAPSHOTS__HTTP_PORT"):
        asyncio.run(_run(settings, stop, names or TopicNames(), opened, status))


async def _run(
    settings: Settings, stop: threading.Event, names: TopicNames, store: ArtifactStore, status: GroupStatus
) -> None:
    registry = settings.schema_registry.url
    codec = Codec(registry=None if registry is None else ConfluentRegistry(registry))
    captures_topic = names.output(CAPTURES.name)
    index = CaptureIndex(settings.snapshots.index_entries)
    captures = KafkaCaptures(settings, captures_topic, index)
    copier = SnapshotCopier(captures, index, store, settings.snapshots)
    outputs = Outputs(settings)
    consumer = Consumer(_configuration(settings) | status.client(), logger=log)
    consumer.subscribe([names.events, captures_topic])
    log.info("snapshots: reading %s and %s", names.events, captures_topic)
    first = TopicPartition(names.events, 0)
    retention = asyncio.create_task(
        keep_retention(
            store,
            settings.artifacts,
            lambda removed: publish_removals(settings, removed, names),
            is_ours=lambda: first in consumer.assignment(),
        )
    )
    try:
        while not stop.is_set():
            status.go_round()
            batch = await asyncio.to_thread(consumer.consume, settings.snapshots.batch_size, _POLL_S)
            asked = [item for message in batch if (item := _asked(message, names.events, codec, settings)) is not None]
            requests = [request for _, _, wanted in asked for request in wanted]
            copied = await copier.copy(requests)
            for outputs_of_one in copied:
                metrics.CAPTURES.labels(_outcome(outputs_of_one)).inc()
            answers = iter(copied)
            messages = [message for item in asked for message in _messages(item, answers, names, codec)]
            await outputs.store(messages)
            _commit(consumer, batch)
            if requests:
                log.info("snapshots: %d asked for, %d messages written", len(requests), len(messages))
    finally:
        retention.cancel()
        await asyncio.gather(retention, return_exceptions=True)
        consumer.close()
        captures.close()
        outputs.close()


def _asked(message: KafkaMessage, events: str, codec: Codec, settings: Settings) -> Asked | None:
    """What a message asks for; None if nothing. What cannot be read is the worker's to dead-letter."""
    error = message.error()
    if error is not None:
        if error.fatal():
            raise WorkerCrashedError(f"Kafka ended the snapshot step's membership ({error.name()}); restart it")
        log.warning("Kafka: %s; waiting for it to pass", error.name())
        return None
    topic, partition, offset = str(message.topic()), message.partition() or 0, message.offset() or 0
    append_time = message.timestamp()[1] * 1000
    if topic == events:
        try:
            if codec.schema_name(message.value()) != "AgentFailure":
                return None
            record = codec.decode(message.value()).record
        except WireError:
            return None
        wanted = of_failure(record, partition, append_time)
    else:
        part = read_part(partition, offset, append_time, message.key(), message.headers() or [])  # type: ignore[arg-type]  # as above
        wanted = [] if part is None else of_sample(part, settings.snapshots.keep_one_in)
    return (topic, offset, wanted) if wanted else None


def _messages(asked: Asked, answers: Any, names: TopicNames, codec: Codec) -> list[Message]:
    topic, offset, requests = asked
    messages = []
    for place, request in enumerate(requests):
        stream = stream_name(topic + _STREAM, request.partition)
        for output in next(answers):
            source = SourceCoordinates(offset, SLOTS * place + output.slot, stream).to_bytes()
            messages.append(
                Message(
                    names.output(output.topic),
                    request.partition,
                    request.trace_id.encode(),
                    codec.encode(output.schema, output.row),
                    [(Header.SOURCE.value, source), *_headers(output)],
                )
            )
    return messages


def _outcome(outputs: Sequence[SnapshotOutput]) -> str:
    return "missing" if any(output.schema == "rows.violations" for output in outputs) else "stored"


def _headers(output: SnapshotOutput) -> Headers:
    return [*violation_headers(output.row)] if output.schema == "rows.violations" else []


def _commit(consumer: Consumer, batch: Sequence[KafkaMessage]) -> None:
    ends: dict[tuple[str, int], int] = {}
    for message in batch:
        if message.error() is None:
            ends[str(message.topic()), message.partition() or 0] = (message.offset() or 0) + 1
    if not ends:
        return
    try:
        consumer.commit(offsets=[TopicPartition(*place, end) for place, end in ends.items()], asynchronous=False)
    except KafkaException as error:
        # The group has gone on: whoever has the partitions now repeats the batch, and the sink drops the repeats.
        log.warning("offsets were not committed (%s); the batch may be repeated", error.args[0].name())


def _configuration(settings: Settings) -> dict[str, Any]:
    snapshots = settings.snapshots
    session_ms = int(snapshots.session_timeout_s * 1000)
    membership = {"group.instance.id": snapshots.instance_id} if snapshots.instance_id else {}
    return settings.kafka.client(
        **membership,
        **{
            "group.id": snapshots.group_id,
            "client.id": "tachograph-snapshots",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": session_ms,
            "heartbeat.interval.ms": max(session_ms // 4, 100),
            "max.poll.interval.ms": max(session_ms, int(_SILENT_S * 1000)),
            "fetch.wait.max.ms": 100,
            # A batch is small and rare; what is fetched ahead and thrown away at a rebalance should be too.
            "queued.max.messages.kbytes": 32_768,
        },
    )
