"""``tachograph slo run``: ask, compare, publish what changed. One evaluator at a time, and a restart goes on.

What fires is remembered by what was published: the topic of objectives, and beyond the topic's thirty days the table it
lands in. Both are read back whenever the lock is gained, so nothing else has to be kept.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from tachograph.console.database import QueryRefusedError, reader
from tachograph.console.slo import metrics
from tachograph.console.slo.alerting import Key, Transition, after, recovered, transitions
from tachograph.console.slo.counting import Rows, observe_all, samples
from tachograph.console.slo.lock import Lock
from tachograph.console.slo.objective import Objective
from tachograph.console.slo.publishing import TopicUnavailableError, Transitions
from tachograph.schemas.errors import TachographError
from tachograph.schemas.group_status import GroupStatus
from tachograph.schemas.settings import Settings
from tachograph.schemas.status_server import StatusServer
from tachograph.schemas.topics import ViolationKind, violation_topic
from tachograph.schemas.wire import Codec
from tachograph.schemas.wire.registry import ConfluentRegistry

_log = logging.getLogger(__name__)

SLO_TOPIC: Final = violation_topic(ViolationKind.SLO)
_TRY_AGAIN_S: Final = 1.0
_SILENT_S: Final = 300.0
"""Time without asking for the lock after which the process counts as hung, and Kafka gives the lock away."""
_LANDED: Final = """
SELECT tenant_id, constraint_id, severity, argMax(verdict, (occurred_at, verdict)) AS last_verdict,
    toUnixTimestamp64Micro(max(occurred_at)) AS last_us
FROM violations
WHERE kind = 'slo'
GROUP BY tenant_id, constraint_id, severity
"""


class Evaluation:
    """Evaluates every objective at a moment. Knows what fires; everything else is asked anew each time."""

    def __init__(self, objectives: Sequence[Objective]) -> None:
        self._objectives = objectives
        self._complained: set[str] = set()
        self.firing: dict[Key, int] = {}

    def remember(self, published: Iterable[dict[str, Any]]) -> None:
        """Take over what fires from all that was published."""
        self.firing = recovered(published)

    def changes(self, moment: int, database: Rows) -> list[Transition]:
        """What begins or ends at ``moment``."""
        found: list[Transition] = []
        observed = observe_all(database, self._objectives, moment)
        for objective, observations in zip(self._objectives, observed, strict=True):
            if isinstance(observations, QueryRefusedError):
                # The others must not go unwatched because of one whose table or condition is wrong.
                if objective.name not in self._complained:
                    self._complained.add(objective.name)
                    _log.error("objective %s cannot be evaluated: %s", objective.name, observations)
                continue
            self._complained.discard(objective.name)
            found += [
                _with_samples(change, objective, database)
                for change in transitions(objective, observations, self.firing, moment)
            ]
        metrics.REFUSED.set(len(self._complained))
        return found

    def told(self, changes: Iterable[Transition]) -> None:
        """The topic has them."""
        for change in changes:
            self.firing = after(self.firing, [change])
            _log.info("%s %s %s: %s", change.key.tenant_id, change.key.slo, change.key.level.name, change.verdict)


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
    publishing: Callable[[int], None] = lambda _moment: None,
) -> None:
    """Evaluate until ``stop`` is set. Waits for servers that go away.

    ``publishing`` is called before transitions are published, ``evaluated`` after every evaluation: for tests.
    """
    url = settings.schema_registry.url
    memory = Transitions(settings.kafka, topic, Codec(registry=ConfluentRegistry(url) if url else None))
    slo = settings.slo
    status = GroupStatus("the evaluator of objectives", silent_s=_SILENT_S)
    with (
        StatusServer.at(slo.http_host, slo.http_port, status, setting="TACHOGRAPH_SLO__HTTP_PORT"),
        Lock(settings, topic, status) as lock,
    ):
        evaluation, last, remembered = Evaluation(objectives), 0, False
        while not stop.is_set():
            status.go_round()
            if not lock.held():
                remembered, status.trouble = False, None
                continue
            moment = moment_of(clock(), slo.every_s, slo.lateness_s)
            if moment <= last and remembered:
                continue
            try:
                with reader(settings) as database:
                    if not remembered:
                        evaluation.remember([*landed(database), *memory.rows()])
                        remembered = True
                    changes = evaluation.changes(moment, database)
                if changes:
                    publishing(moment)
                    # A process may have slept since it asked for the lock, and somebody else may have spoken.
                    if not lock.confirmed(moment):
                        remembered = False
                        continue
                    memory.publish(changes)
                    evaluation.told(changes)
            except TopicUnavailableError as error:
                # What was taken of the last transitions is known only to the topic: read it again.
                remembered = False
                _failed(error, status)
                stop.wait(_TRY_AGAIN_S)
            except TachographError as error:
                _failed(error, status)
                stop.wait(_TRY_AGAIN_S)
            else:
                last, status.trouble = moment, None
                metrics.EVALUATIONS.labels("done").inc()
                metrics.EVALUATED.set(clock())
                evaluated(moment)


def _failed(error: TachographError, status: GroupStatus) -> None:
    _log.warning("%s; trying again", error)
    metrics.EVALUATIONS.labels("failed").inc()
    status.trouble = f"objectives are not evaluated: {error}"


def landed(database: Rows) -> Iterator[dict[str, Any]]:
    """The last transition of each alert, as far as it has landed: kept longer than the topic keeps it."""
    for tenant, objective, severity, verdict, last_us in database.rows(_LANDED, {}):
        yield {
            "tenant_id": tenant,
            "constraint_id": objective,
            "severity": severity,
            "kind": ViolationKind.SLO.value,
            "verdict": verdict,
            "occurred_at": last_us,
        }


def _with_samples(change: Transition, objective: Objective, database: Rows) -> Transition:
    if not change.has_samples:
        return change
    found = samples(database, objective, change.key.tenant_id, change.starts_at)
    return replace(change, sample_event_ids=found)
