"""The sealer as a process: events in; sealed records, checkpoints and violations out.

For every batch and partition, in this order: read back what the output topic holds that we did not write; judge and
seal; store violations and dead letters; store records; store checkpoints; commit. What is committed is the offset from
which the open runs can be read again, and beside it how far the input was dealt with. A sealer that dies anywhere in
between is followed by one that finds its records in the output topic, and makes what is missing, byte for byte.

Two sealers on one partition cannot fork it. The group gives it to one; one that has not heard of that yet reads the
other's records before it appends; and where even that is too late it appends the same bytes, which readers drop.
"""

import asyncio
import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka import Message as KafkaMessage
from prometheus_client import REGISTRY, generate_latest

from tachograph.processors.catalog.load import load_catalog
from tachograph.processors.catalog.shipped import decisions_folder
from tachograph.processors.deadletters import RawRecord
from tachograph.processors.errors import WorkerCrashedError
from tachograph.processors.names import TopicNames
from tachograph.processors.outputs import Outputs
from tachograph.processors.sealing import metrics
from tachograph.processors.sealing.anchors import open_anchors
from tachograph.processors.sealing.custodians import open_signer
from tachograph.processors.sealing.custody import Signer
from tachograph.processors.sealing.errors import HeadError
from tachograph.processors.sealing.keeper import HeadsKeeper
from tachograph.processors.sealing.key_set import KeySetFile, create_keys, key_set_of
from tachograph.processors.sealing.partition import Made, Sealing
from tachograph.processors.sealing.reader import RangeReader
from tachograph.processors.sealing.recovery import Lane, Recovery
from tachograph.schemas.errors import TachographError
from tachograph.schemas.settings import Settings
from tachograph.schemas.status_server import StatusServer
from tachograph.schemas.wire import Codec
from tachograph.schemas.wire.registry import ConfluentRegistry

__all__ = ["run_sealer"]

log = logging.getLogger(__name__)

_POLL_S: Final = 0.2
_LEADING: Final = 0
"""Partition whose sealer publishes the heads of all logs."""
_SILENT_S: Final = 600.0
"""Time without a round of the loop after which it counts as hung. Reading a long log back takes minutes."""

Moment = Callable[[str], None]
"""Called at ``judged``, ``warned``, ``sealed``, ``checkpointed`` and ``committed``: where a test pulls the plug."""


def run_sealer(
    settings: Settings,
    *,
    stop: threading.Event,
    names: TopicNames | None = None,
    outputs: TopicNames | None = None,
    signer: Signer | None = None,
    moment: Moment = lambda _name: None,
) -> None:
    """Run until ``stop`` is set; then finish the batch and leave the group. Raises what sealing must stop for."""
    if settings.sealer.create_keys:
        create_keys(settings)
    keys = KeySetFile(key_set_of(settings))
    registry = settings.schema_registry.url
    reading = names or TopicNames()
    sealing = Sealing(
        load_catalog(settings.sealer.catalog or decisions_folder()),
        keys.read(),
        signer or open_signer(settings),
        Codec(registry=None if registry is None else ConfluentRegistry(registry)),
        reading,
        outputs or reading,
        int(settings.sealer.run_silence_s * 1_000_000),
    )
    service = _Service(settings, sealing, keys, stop=stop, moment=moment, heads_signer=signer or open_signer(settings))
    sealer = settings.sealer
    with StatusServer.at(sealer.http_host, sealer.http_port, service, setting="sealer.http_port"):
        asyncio.run(service.run())


class _Service:
    def __init__(
        self,
        settings: Settings,
        sealing: Sealing,
        keys: KeySetFile,
        *,
        stop: threading.Event,
        moment: Moment,
        heads_signer: Signer,
    ) -> None:
        self._keys = keys
        self._settings = settings
        self._with = sealing
        self._stop = stop
        self._moment = moment
        self._topic = sealing.names.events
        self._consumer = Consumer(_configuration(settings), logger=log)
        self._outputs = Outputs(settings)
        self._reader = RangeReader(settings, settings.sealer.group_id)
        self._recovery = Recovery(self._reader, sealing)
        self._keeper = HeadsKeeper(settings, sealing, heads_signer, open_anchors(settings))
        self._heard_at = time.monotonic()
        self._lanes: dict[int, Lane] = {}
        self._given: dict[int, int] = {}
        """Partitions that were assigned and are not recovered yet, with the offset where they were done."""

    def metrics(self) -> bytes:
        """Every metric."""
        return generate_latest(REGISTRY)

    def dead(self) -> str | None:
        """Whether the loop goes round."""
        if time.monotonic() - self._heard_at < _SILENT_S:
            return None
        return f"the sealer has not asked Kafka for anything for {_SILENT_S:g} s"

    def not_ready(self) -> str | None:
        """What the sealer waits for."""
        return None if self._lanes else "the sealer has no partitions yet"

    async def run(self) -> None:
        self._consumer.subscribe(
            [self._topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke
        )
        log.info("sealer: reading %s", self._topic)
        heads = asyncio.create_task(self._keeper.run())
        try:
            while not self._stop.is_set():
                if heads.done():
                    heads.result()  # it ends by an error only, which ends us
                self._heard_at = time.monotonic()
                batch = await asyncio.to_thread(self._consumer.consume, self._settings.sealer.batch_size, _POLL_S)
                self._with.keys = self._keys.read()
                await self._recover()
                self._keeper.leading = _LEADING in self._lanes
                for partition, messages in groupby(
                    sorted(filter(_usable, batch), key=_place), lambda message: message.partition() or 0
                ):
                    if partition in self._lanes:
                        await self._take(partition, self._lanes[partition], list(messages))
        finally:
            heads.cancel()
            with contextlib.suppress(asyncio.CancelledError, TachographError):
                await heads
            self._keeper.close()
            self._consumer.close()
            self._reader.close()
            self._outputs.close()

    async def _recover(self) -> None:
        for partition, done in list(self._given.items()):
            del self._given[partition]
            lane = await asyncio.to_thread(self._recovery.open, partition, done)
            self._lanes[partition] = lane
            # Records whose batch was not finished may lack their checkpoint. A repeat is the same bytes.
            await self._outputs.store(lane.sealer.checkpoints(lane.sealer.heads_since(done)))

    async def _take(self, partition: int, lane: Lane, messages: Sequence[KafkaMessage]) -> None:
        sealer = lane.sealer
        if any(self._with.proposes(message.value()) for message in messages):
            await asyncio.to_thread(self._recovery.catch_up, lane)
        made = sealer.take(map(_raw, messages))
        self._moment("judged")
        if made.before:
            await self._outputs.store(made.before)
            self._moment("warned")
        if made.records:
            await self._outputs.store(made.records)
            self._moment("sealed")
            await self._stored(partition, lane, len(made.records))
            await self._outputs.store(sealer.checkpoints(made.touched))
            self._moment("checkpointed")
            log.info("sealer: partition %d: %d sealed, %d blocked", partition, len(made.records), made.blocked)
        _count(made)
        metrics.POSITION.labels(str(partition)).set(sealer.position)
        self._commit(partition, sealer.low_offset, sealer.position)
        self._moment("committed")

    async def _stored(self, partition: int, lane: Lane, count: int) -> None:
        """What we wrote is known to us. If there is more, somebody else wrote too, and it must be the same."""
        end = await asyncio.to_thread(self._recovery.end, partition)
        if end == lane.read_to + count:
            lane.read_to = end
        elif await asyncio.to_thread(self._recovery.catch_up, lane):
            raise HeadError(f"another sealer went on in partition {partition} with other records: stop both")

    def _commit(self, partition: int, low: int, done: int) -> None:
        place = TopicPartition(self._topic, partition, low, metadata=json.dumps({"v": 1, "done": done}))
        try:
            self._consumer.commit(offsets=[place], asynchronous=False)
        except KafkaException as error:
            # The group has gone on: whoever has the partition now finds our records in the output topic.
            log.warning("an offset was not committed (%s); the batch may be repeated", error.args[0].name())

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        timeout_s = self._settings.kafka.request_timeout_ms / 1000
        for place in consumer.committed(partitions, timeout=timeout_s):
            self._given[place.partition] = _done(place)

    def _on_revoke(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for place in partitions:
            self._given.pop(place.partition, None)
            self._lanes.pop(place.partition, None)


def _count(made: Made) -> None:
    for status, count in made.statuses.items():
        metrics.RECORDS.labels(status).inc(count)
    for rule, count in made.rules.items():
        metrics.BLOCKED.labels(rule).inc(count)
    metrics.DEAD_LETTERS.inc(made.dead)


def _done(place: TopicPartition) -> int:
    """How far the input was dealt with, from beside a committed offset."""
    if place.offset < 0:
        return 0
    try:
        return max(place.offset, int(json.loads(place.metadata or "")["done"]))
    except (ValueError, KeyError, TypeError):
        return place.offset  # set by hand


def _usable(message: KafkaMessage) -> bool:
    error = message.error()
    if error is None:
        return True
    if error.fatal():
        raise WorkerCrashedError(f"Kafka ended the sealer's membership ({error.name()}); restart it")
    log.warning("Kafka: %s; waiting for it to pass", error.name())
    return False


def _place(message: KafkaMessage) -> tuple[int, int]:
    return message.partition() or 0, message.offset() or 0


def _raw(message: KafkaMessage) -> RawRecord:
    return RawRecord(
        message.partition() or 0,
        message.offset() or 0,
        message.timestamp()[1] * 1000,
        message.key(),
        message.value(),
        list(message.headers() or []),  # type: ignore[arg-type]  # a list, as we use it
    )


def _configuration(settings: Settings) -> dict[str, Any]:
    sealer = settings.sealer
    session_ms = int(sealer.session_timeout_s * 1000)
    membership = {"group.instance.id": sealer.instance_id} if sealer.instance_id else {}
    return settings.kafka.client(
        **membership,
        **{
            "group.id": sealer.group_id,
            "client.id": "tachograph-sealer",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": session_ms,
            "heartbeat.interval.ms": max(session_ms // 4, 100),
            # Reading a long log back takes a while: 0.15 ms a record.
            "max.poll.interval.ms": max(session_ms, 1_800_000),
            "fetch.wait.max.ms": 100,
            "queued.max.messages.kbytes": 32_768,
        },
    )
