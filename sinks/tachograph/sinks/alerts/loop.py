"""Alerting as a process: violations in, notifications out, offsets committed after that."""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from tachograph.schemas.errors import RegistryError, WireError
from tachograph.schemas.group_status import GroupStatus
from tachograph.schemas.settings import Settings
from tachograph.schemas.status_server import StatusServer
from tachograph.schemas.topics import DLQ, VIOLATIONS
from tachograph.schemas.wire import Codec
from tachograph.schemas.wire.registry import ConfluentRegistry
from tachograph.sinks.alerts import metrics
from tachograph.sinks.alerts.alert import Place, alert_of
from tachograph.sinks.alerts.courier import Couriers, Outcome
from tachograph.sinks.alerts.dead_letters import DeadLetters, NotDeliveredError
from tachograph.sinks.alerts.dispatch import Dispatcher, Notification
from tachograph.sinks.alerts.receivers import Receive, open_receiver
from tachograph.sinks.alerts.routes import RoutingTable
from tachograph.sinks.clickhouse.offsets import commit
from tachograph.sinks.errors import (
    BrokerTroubleError,
    MissingTopicError,
    OwnershipLostError,
    TransientError,
    UnreachableAtStartError,
)

_log = logging.getLogger(__name__)

POLL_S: Final = 0.1
READ_AT_ONCE: Final = 500
FAREWELL_S: Final = 15.0
"""How long a stop waits for deliveries that are under way. What does not end by then is delivered again later."""
REJOIN_S: Final = 1.0
SILENT_S: Final = 300.0
"""Time without a round of the loop after which it counts as hung, and Kafka gives its partitions away."""
_ROW: Final = "rows.violations"
_FULL: Final = "as many alerts wait as may (alerts.max_waiting): nothing is read until receivers take some"
ALERT_TOPICS: Final = tuple(topic.name for topic in VIOLATIONS)


def run_alerts(
    settings: Settings,
    table: RoutingTable,
    *,
    stop: threading.Event,
    topics: Sequence[str] = ALERT_TOPICS,
    dead_letter_topic: str = DLQ.name,
    environment: Mapping[str, str] | None = None,
    clock: Callable[[], float] = time.time,
) -> None:
    """Deliver until ``stop`` is set. Waits for a Kafka that goes away; raises StopError for what a person must mend."""
    variables = os.environ if environment is None else environment
    receivers = {receiver.name: open_receiver(receiver, variables) for receiver in table.receivers}
    _require_topics(settings, topics, stop)
    letters = DeadLetters(settings.kafka, dead_letter_topic)
    status, own = GroupStatus("alerting", silent_s=SILENT_S, lag=metrics.LAG), settings.alerts
    with StatusServer.at(own.http_host, own.http_port, status, setting="TACHOGRAPH_ALERTS__HTTP_PORT"):
        while not stop.is_set():
            member = _Member(
                settings, table, receivers=receivers, letters=letters, topics=topics, clock=clock, status=status
            )
            try:
                member.run(stop)
            except (TransientError, RegistryError) as error:
                _log.warning("%s; joining anew in %.0f s", error, REJOIN_S)
                stop.wait(REJOIN_S)
            finally:
                member.leave()


class _Member:
    """One membership of the group, with everything that waits in it. A new one begins from what is committed."""

    def __init__(
        self,
        settings: Settings,
        table: RoutingTable,
        *,
        receivers: Mapping[str, Receive],
        letters: DeadLetters,
        topics: Sequence[str],
        clock: Callable[[], float],
        status: GroupStatus,
    ) -> None:
        url = settings.schema_registry.url
        self._codec = Codec(registry=ConfluentRegistry(url) if url else None)
        self._table = table
        self._letters = letters
        self._clock = clock
        self._status = status
        self._dispatcher = Dispatcher(table, max_waiting=settings.alerts.max_waiting)
        self._couriers = Couriers(receivers, clock)
        self._messages: dict[Place, Message] = {}
        self._committed: dict[tuple[str, int], int] = {}
        self._paused = False
        self._consumer = Consumer(_configuration(settings) | status.client())
        self._consumer.subscribe(list(topics), on_assign=_assigned, on_revoke=self._revoked, on_lost=self._revoked)

    def run(self, stop: threading.Event) -> None:
        """Read, send, commit; then let what is under way end."""
        while not stop.is_set():
            self._status.go_round()
            self._read()
            self._send()
            self._collect(0)
            self._commit()
        until = time.monotonic() + FAREWELL_S
        while not self._dispatcher.idle and time.monotonic() < until:
            self._collect(POLL_S)
        self._commit()

    def leave(self) -> None:
        """Give the partitions back."""
        self._couriers.close()
        self._consumer.close()

    def _read(self) -> None:
        if self._dispatcher.full != self._paused:
            act = self._consumer.resume if self._paused else self._consumer.pause
            act(self._consumer.assignment())
            self._paused = not self._paused
            self._status.trouble = _FULL if self._paused else None
        wait = min(POLL_S, max(0.0, self._dispatcher.next_at(self._clock()) - self._clock()))
        for message in self._consumer.consume(READ_AT_ONCE, max(wait, 0.001)):
            error = message.error()
            if error is None:
                self._take(message)
            elif error.fatal():
                raise BrokerTroubleError(f"Kafka ended the membership ({error.name()})")
            else:
                _log.warning("Kafka: %s; waiting for it to pass", error.name())

    def _take(self, message: Message) -> None:
        place = Place(message.topic() or "", message.partition() or 0, message.offset() or 0)
        try:
            row = self._codec.decode_as(_ROW, message.value())
        except WireError as error:
            # Not a violation of any version we know: nobody can be told, so an operator is.
            self._letters.put(message, "DECODE", error)
            self._dispatcher.skip(place)
            return
        alert = alert_of(row)
        metrics.READ.labels(alert.kind).inc()
        self._messages[place] = message
        self._dispatcher.receive(place, alert, self._clock())

    def _send(self) -> None:
        for notification in self._dispatcher.take_due(self._clock()):
            self._couriers.send(notification)

    def _collect(self, wait_s: float) -> None:
        for outcome in self._couriers.outcomes(wait_s):
            self._settle(outcome)
        metrics.WAITING.set(self._dispatcher.ledger.waiting)

    def _settle(self, outcome: Outcome) -> None:
        notification, failure = outcome
        kind = self._table.receiver(notification.receiver).type
        if failure is None:
            metrics.SENT.labels(kind, "delivered").inc()
            self._dispatcher.delivered(notification)
            return
        given_up = self._dispatcher.failed(notification, failure, self._clock())
        metrics.SENT.labels(kind, "given_up" if given_up else "failed").inc()
        if not given_up:
            _log.warning("receiver %s: %s; trying again", notification.receiver, failure.reason)
            return
        self._bury(notification, failure.reason)
        self._dispatcher.give_up(given_up)

    def _bury(self, notification: Notification, reason: str) -> None:
        _log.error(
            "receiver %s: %s; %s alerts are dead letters now", notification.receiver, reason, len(notification.entries)
        )
        error = NotDeliveredError(f"receiver {notification.receiver}: {reason}")
        for place, _ in notification.entries:
            message = self._messages.get(place)
            if message is not None:
                self._letters.put(message, "DELIVER", error)

    def _commit(self) -> None:
        moved = {
            partition: offset
            for partition, offset in self._dispatcher.ledger.committable.items()
            if self._committed.get(partition) != offset
        }
        if not moved:
            return
        try:
            commit(self._consumer, [TopicPartition(topic, number, offset) for (topic, number), offset in moved.items()])
        except OwnershipLostError as error:
            # The group is going on. Reading tells whether the partitions stay ours; if so, the same commit succeeds.
            _log.info("%s; asking the group", error)
            return
        self._committed |= moved
        for place in [place for place in self._messages if place.offset < moved.get((place.topic, place.partition), 0)]:
            del self._messages[place]

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for gone in partitions:
            self._dispatcher.forget((gone.topic, gone.partition))
            self._committed.pop((gone.topic, gone.partition), None)
        lost = {(gone.topic, gone.partition) for gone in partitions}
        for place in [place for place in self._messages if (place.topic, place.partition) in lost]:
            del self._messages[place]
        consumer.incremental_unassign(partitions)


def _assigned(consumer: Consumer, partitions: list[TopicPartition]) -> None:
    consumer.incremental_assign(partitions)
    # A partition that was paused when it was taken away comes back paused.
    consumer.resume(partitions)


def _configuration(settings: Settings) -> dict[str, Any]:
    alerts = settings.alerts
    session_ms = int(alerts.session_timeout_s * 1000)
    membership = {"group.instance.id": alerts.instance_id} if alerts.instance_id else {}
    return settings.kafka.client(
        **membership,
        **{
            "group.id": alerts.group_id,
            "client.id": "tachograph-alerts",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            # A violation from before the first start is still one: nobody has heard of it.
            "auto.offset.reset": "earliest",
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": session_ms,
            "max.poll.interval.ms": max(session_ms, int(SILENT_S * 1000)),
            "heartbeat.interval.ms": max(session_ms // 4, 100),
            "fetch.wait.max.ms": 100,
        },
    )


def _require_topics(settings: Settings, topics: Sequence[str], stop: threading.Event) -> None:
    kafka = settings.kafka
    patience_s = kafka.request_timeout_ms / 1000
    until = time.monotonic() + patience_s
    admin = AdminClient(kafka.client())
    while not stop.is_set():
        try:
            found = admin.list_topics(timeout=patience_s).topics
        except KafkaException:
            raise UnreachableAtStartError(
                f"Kafka did not answer at {kafka.address}. Is it running, and is kafka.bootstrap_servers right?"
            ) from None
        missing = sorted(set(topics) - set(found))
        if not missing:
            return
        if time.monotonic() > until:
            raise MissingTopicError(f"Kafka has no topic {', '.join(missing)}. Run `tachograph topics apply`.")
        stop.wait(0.1)
