"""Plug-in evaluators as a process: events in, their verdicts out.

It stands beside the worker and not in it, because a judge model answers in seconds where the worker has tenths of a
millisecond: a slow judge delays its own verdicts, never the stream. The order is the worker's: outputs acknowledged,
then the offsets committed. What was not committed is judged again, and its outputs carry the same coordinates, on a
stream of their own, so that the sink keeps one.
"""

import asyncio
import logging
import threading
from collections.abc import Sequence
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka import Message as KafkaMessage

from tachograph.processors.deadletters import Message
from tachograph.processors.errors import NoEvaluatorsError, WorkerCrashedError
from tachograph.processors.evaluate import metrics
from tachograph.processors.evaluate.plugins import (
    EventEvaluator,
    PluginLimits,
    PluginResult,
    PluginRunner,
    load_plugins,
)
from tachograph.processors.evaluate.results import SIDES, Evaluation, side_result
from tachograph.processors.judge import evaluation_row, report_findings
from tachograph.processors.names import TopicNames
from tachograph.processors.outputs import Outputs
from tachograph.processors.report import Report
from tachograph.processors.violation_headers import violation_headers
from tachograph.processors.violations import subject_of
from tachograph.schemas.errors import WireError
from tachograph.schemas.group_status import GroupStatus
from tachograph.schemas.headers import Header, SourceCoordinates, stream_name
from tachograph.schemas.settings import Settings
from tachograph.schemas.status_server import StatusServer
from tachograph.schemas.wire import Codec
from tachograph.schemas.wire.registry import ConfluentRegistry

_POLL_S: Final = 0.2
_SILENT_S: Final = 1800.0
"""Time without a round of the loop after which it counts as hung, and Kafka gives its partitions away. A batch may wait
for as many slow answers as it has events."""
_BATCH: Final = 64
"""Events judged between two commits: as many as are judged again after a crash."""
_SLOTS: Final = 64
"""Coordinates of one plug-in within an event: its row, and at most this many violations less one."""
_STREAM: Final = "#evaluators"

log = logging.getLogger(__name__)


def run_evaluators(
    settings: Settings,
    *,
    stop: threading.Event,
    names: TopicNames | None = None,
    plugins: Sequence[EventEvaluator] | None = None,
) -> None:
    """Run until ``stop`` is set; then finish the batch and leave the group."""
    found = load_plugins() if plugins is None else plugins
    if not found:
        raise NoEvaluatorsError(
            "no evaluator is on; set TACHOGRAPH_JUDGE__URL and TACHOGRAPH_JUDGE__MODEL for the judge that ships with "
            "the package, or install one that has an entry point in tachograph.evaluators"
        )
    status, own = GroupStatus("the evaluators' process", silent_s=_SILENT_S, lag=metrics.LAG), settings.evaluate
    with StatusServer.at(own.http_host, own.http_port, status, setting="TACHOGRAPH_EVALUATE__HTTP_PORT"):
        asyncio.run(_run(settings, stop, names or TopicNames(), found, status))


async def _run(
    settings: Settings,
    stop: threading.Event,
    names: TopicNames,
    plugins: Sequence[EventEvaluator],
    status: GroupStatus,
) -> None:
    registry = settings.schema_registry.url
    codec = Codec(registry=None if registry is None else ConfluentRegistry(registry))
    answers: dict[tuple[str, int], PluginResult] = {}

    def deliver(result: PluginResult) -> None:
        answers[result.plugin, id(result.event)] = result
        metrics.ANSWERS.labels(result.plugin, _outcome(result.reason)).inc()

    runner = PluginRunner(plugins, deliver, PluginLimits(queue=_BATCH))
    outputs = Outputs(settings)
    consumer = Consumer(_configuration(settings) | status.client(), logger=log)
    consumer.subscribe([names.events])
    await runner.start()
    log.info("evaluators: %s", ", ".join(plugin.name for plugin in plugins))
    try:
        while not stop.is_set():
            status.go_round()
            batch = await asyncio.to_thread(consumer.consume, _BATCH, _POLL_S)
            events = [(message, event) for message in batch if (event := _event(message, codec)) is not None]
            for _, event in events:
                runner.submit(event)
            await runner.join()
            await outputs.store(
                message
                for source, event in events
                for place, plugin in enumerate(plugins)
                for message in _messages(source, place, answers[plugin.name, id(event)], names, codec)
            )
            answers.clear()
            _commit(consumer, batch)
    finally:
        await runner.stop()
        consumer.close()
        outputs.close()


def _outcome(reason: str | None) -> str:
    """A word for why nothing is known, which begins the sentence that says so."""
    if reason is None:
        return "answered"
    word, colon, _ = reason.partition(":")
    return word if colon else "stopped"


def _event(message: KafkaMessage, codec: Codec) -> dict[str, Any] | None:
    """The event in a message; None if it is something else. What cannot be read is the worker's to dead-letter."""
    error = message.error()
    if error is not None:
        if error.fatal():
            raise WorkerCrashedError(f"Kafka ended the evaluators' membership ({error.name()}); restart them")
        log.warning("Kafka: %s; waiting for it to pass", error.name())
        return None
    value = message.value()
    try:
        if codec.schema_name(value) != "DecisionEvent":
            return None
        return codec.decode(value).record
    except WireError:
        return None


def _messages(source: KafkaMessage, place: int, result: PluginResult, names: TopicNames, codec: Codec) -> list[Message]:
    """A row of what the plug-in said, and a violation for each rule that it found broken."""
    record = dict(result.event)
    partition, offset = source.partition() or 0, source.offset() or 0
    alignment, quality, policy = (
        side_result([check for side, check in result.checks if side == kind]) for kind in SIDES
    )
    findings = result.violations[: _SLOTS - 1]
    evaluation = Evaluation(alignment, quality, policy, findings, f"plugin:{result.plugin}")
    report = Report(subject_of(record))
    report.rows([("evaluations", evaluation_row(record, source.timestamp()[1] * 1000, evaluation))])
    report_findings(record, evaluation, report)
    stream = stream_name(names.events, partition) + _STREAM
    messages = []
    for index, (topic, key, schema, row) in enumerate(report.outputs):
        coordinates = SourceCoordinates(offset, _SLOTS * place + index, stream).to_bytes()
        headers = violation_headers(row) if schema == "rows.violations" else []
        value = codec.encode(schema, row)
        messages.append(
            Message(names.output(topic), partition, key.encode(), value, [(Header.SOURCE.value, coordinates), *headers])
        )
    return messages


def _commit(consumer: Consumer, batch: Sequence[KafkaMessage]) -> None:
    ends = {
        (str(message.topic()), message.partition() or 0): (message.offset() or 0) + 1
        for message in batch
        if message.error() is None
    }
    if not ends:
        return
    try:
        consumer.commit(offsets=[TopicPartition(*place, end) for place, end in ends.items()], asynchronous=False)
    except KafkaException as error:
        # The group has gone on: whoever has the partitions now repeats the batch, and the sink drops the repeats.
        log.warning("offsets were not committed (%s); the batch may be repeated", error.args[0].name())


def _configuration(settings: Settings) -> dict[str, Any]:
    evaluate = settings.evaluate
    membership = {"group.instance.id": evaluate.instance_id} if evaluate.instance_id else {}
    return settings.kafka.client(
        **membership,
        **{
            "group.id": evaluate.group_id,
            "client.id": "tachograph-evaluators",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            # A judge that is turned on today judges from today on.
            "auto.offset.reset": "latest",
            "max.poll.interval.ms": int(_SILENT_S * 1000),
        },
    )
