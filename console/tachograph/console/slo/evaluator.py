"""``tachograph slo run``: ask, compare, publish what changed. One evaluator at a time, and a restart goes on.

The lock is a consumer group on the topic of objectives: whoever is given its partition 0 evaluates, all others wait.
What is firing is read back from the topic whenever the lock is gained, so nothing else has to be kept.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Self

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tachograph.console.database import QueryRefusedError, reader
from tachograph.console.slo.alerting import Key, after, recovered, transitions
from tachograph.console.slo.counting import Rows, observe
from tachograph.console.slo.objective import Objective
from tachograph.console.slo.publishing import TopicUnavailableError, Transitions
from tachograph.schemas.errors import TachographError
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import ViolationKind, violation_topic
from tachograph.schemas.wire import Codec
from tachograph.schemas.wire.registry import ConfluentRegistry

_log = logging.getLogger(__name__)

SLO_TOPIC: Final = violation_topic(ViolationKind.SLO)
POLL_S: Final = 0.1


class Evaluation:
    """Evaluates every objective at a moment. Knows what fires; everything else is asked anew each time."""

    def __init__(self, objectives: Sequence[Objective], memory: Transitions) -> None:
        self._objectives = objectives
        self._memory = memory
        self._complained: set[str] = set()
        self.firing: dict[Key, int] = {}

    def remember(self) -> None:
        """Read back what fires."""
        self.firing = recovered(self._memory.rows())

    def at(self, moment: int, database: Rows) -> int:
        """Publish what changed at ``moment``. Returns how many transitions there were."""
        changes = []
        for objective in self._objectives:
            try:
                observations = observe(database, objective, moment)
            except QueryRefusedError as error:
                # The others must not go unwatched because of one whose table or condition is wrong.
                if objective.name not in self._complained:
                    self._complained.add(objective.name)
                    _log.error("objective %s cannot be evaluated: %s", objective.name, error)
                continue
            self._complained.discard(objective.name)
            changes += transitions(objective, observations, self.firing, moment)
        if changes:
            self._memory.publish(changes)
            self.firing = after(self.firing, changes)
            for change in changes:
                _log.info("%s %s %s: %s", change.key.tenant_id, change.key.slo, change.key.level.name, change.verdict)
        return len(changes)


def moment_of(now: float, every_s: int, lateness_s: int) -> int:
    """The moment to evaluate: late enough that its events have arrived, and the same for whoever asks."""
    return int(now - lateness_s) // every_s * every_s


def run_evaluator(
    settings: Settings,
    objectives: Sequence[Objective],
    *,
    stop: threading.Event,
    topic: str = SLO_TOPIC,
    clock: Callable[[], float] = time.time,
    evaluated: Callable[[int], None] = lambda _moment: None,
) -> None:
    """Evaluate until ``stop`` is set. Waits for servers that go away."""
    url = settings.schema_registry.url
    memory = Transitions(settings.kafka, topic, Codec(registry=ConfluentRegistry(url) if url else None))
    slo = settings.slo
    with _Lock(settings, topic) as lock:
        evaluation, last, remembered = Evaluation(objectives, memory), 0, False
        while not stop.is_set():
            if not lock.held():
                remembered = False
                continue
            moment = moment_of(clock(), slo.every_s, slo.lateness_s)
            if moment <= last and remembered:
                continue
            try:
                if not remembered:
                    evaluation.remember()
                    remembered = True
                with reader(settings) as database:
                    evaluation.at(moment, database)
            except TopicUnavailableError as error:
                # What was taken of the last transitions is known only to the topic: read it again.
                _log.warning("%s; trying again", error)
                remembered = False
                stop.wait(1.0)
            except TachographError as error:
                _log.warning("%s; trying again", error)
                stop.wait(1.0)
            else:
                last = moment
                evaluated(moment)


class _Lock:
    """Membership of the group. Asking keeps it alive."""

    def __init__(self, settings: Settings, topic: str) -> None:
        slo = settings.slo
        session_ms = int(slo.session_timeout_s * 1000)
        configuration: dict[str, Any] = settings.kafka.client(
            **{
                "group.id": slo.group_id,
                "client.id": "tachograph-slo",
                "enable.auto.commit": False,
                "auto.offset.reset": "latest",
                "session.timeout.ms": session_ms,
                "heartbeat.interval.ms": max(session_ms // 4, 100),
                "partition.assignment.strategy": "range",
            }
        )
        self._consumer = Consumer(configuration)
        self._topic = topic
        self._mine = False

    def __enter__(self) -> Self:
        self._consumer.subscribe([self._topic], on_assign=self._given, on_revoke=self._taken, on_lost=self._taken)
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def held(self) -> bool:
        """Whether we are the one. Takes a moment, in which the group is heard."""
        try:
            # What the topic says is of no interest here; being a member is.
            self._consumer.consume(500, POLL_S)
        except KafkaException:
            return False
        return self._mine

    def _given(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._mine = any(partition.partition == 0 for partition in partitions)
        _log.info("evaluating" if self._mine else "another evaluator is at work; waiting")

    def _taken(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self._mine = False
