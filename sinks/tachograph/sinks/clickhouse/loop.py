"""The sink as a process: check that everything is there, then go on until told to stop."""

import logging
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tachograph.schemas.errors import RegistryError
from tachograph.schemas.settings import Settings
from tachograph.schemas.status_server import StatusServer
from tachograph.schemas.topics import DLQ, TOPICS, Topic
from tachograph.schemas.wire.registry import ConfluentRegistry, SchemaRegistry
from tachograph.sinks.clickhouse.dead_letters import DEAD_LETTER_TABLE
from tachograph.sinks.clickhouse.insert import ClickHouseInserts
from tachograph.sinks.clickhouse.outbox import Outbox
from tachograph.sinks.clickhouse.sink import Moment, Sink
from tachograph.sinks.clickhouse.status import SinkStatus
from tachograph.sinks.errors import (
    ClickHouseUnreachableError,
    MissingTopicError,
    OwnershipLostError,
    TransientError,
    UnreachableAtStartError,
)

_log = logging.getLogger(__name__)

SINK_TOPICS: Final = tuple(topic for topic in TOPICS if topic.table is not None)
"""Every topic that lands in a table."""
REJOIN_S: Final = 1.0
"""Wait before joining the group anew, after Kafka did not answer."""


def run_sink(
    settings: Settings,
    *,
    stop: threading.Event,
    topics: Sequence[Topic] = SINK_TOPICS,
    moment: Moment = lambda _name: None,
) -> None:
    """Land rows until ``stop`` is set; then finish the cycle and leave the group.

    Waits for a Kafka or ClickHouse that goes away while it runs. Raises StopError for what a person has to mend: a
    server that is not there at the start, a wrong password, a missing grant, table or topic.
    """
    _require_topics(settings, topics, stop)
    try:
        inserts = ClickHouseInserts(settings.clickhouse)
    except ClickHouseUnreachableError as error:
        raise UnreachableAtStartError(str(error)) from None
    url = settings.schema_registry.url
    registry: SchemaRegistry | None = ConfluentRegistry(url) if url else None
    outbox = Outbox(settings.kafka, _dead_letter_topic(topics))
    status, own = SinkStatus(), settings.sink
    _log.info("landing %s topics in %s", len(topics), settings.clickhouse.database)
    with (
        closing(inserts),
        StatusServer.at(own.http_host, own.http_port, status, setting="TACHOGRAPH_SINK__HTTP_PORT"),
    ):
        while not stop.is_set():
            sink = Sink(settings, topics, inserts, outbox, stop=stop, registry=registry, moment=moment)
            status.follow(sink.reader)
            try:
                sink.run()
            except (TransientError, OwnershipLostError, RegistryError) as error:
                # Everything that matters is committed: a new member goes on where this one was.
                _log.warning("%s; joining anew in %.0f s", error, REJOIN_S)
                stop.wait(REJOIN_S)


def _dead_letter_topic(topics: Sequence[Topic]) -> str:
    return next((topic.name for topic in topics if topic.table == DEAD_LETTER_TABLE), DLQ.name)


def _require_topics(settings: Settings, topics: Sequence[Topic], stop: threading.Event) -> None:
    """Wait for the topics as long as a request may take: a new topic is known a moment after it was created."""
    kafka = settings.kafka
    patience_s = kafka.request_timeout_ms / 1000
    until = time.monotonic() + patience_s
    admin = AdminClient(kafka.client(), logger=_log)
    while not stop.is_set():
        try:
            found = admin.list_topics(timeout=patience_s).topics
        except KafkaException:
            raise UnreachableAtStartError(
                f"Kafka did not answer at {kafka.address}. Is it running, and is kafka.bootstrap_servers right?"
            ) from None
        missing = sorted({topic.name for topic in topics} - set(found))
        if not missing:
            return
        if time.monotonic() > until:
            raise MissingTopicError(f"Kafka has no topic {', '.join(missing)}. Run `tachograph topics apply`.")
        stop.wait(0.1)
