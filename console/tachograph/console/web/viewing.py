"""Every view of captured content is itself recorded, before the content is shown. Not recorded is not shown."""

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, Final, Protocol

from confluent_kafka import KafkaException, Producer

from tachograph.console.web.sessions import Session
from tachograph.schemas.errors import TachographError
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import CONTENT_VIEWS
from tachograph.schemas.wire import Codec
from tachograph.schemas.wire.registry import ConfluentRegistry

RECORD_WITHIN_S: Final = 5.0
DETAIL_LIMIT: Final = 10_000
"""Characters kept of a query: the beginning says who asked for what."""

_ROW: Final = "rows.content_views"


class NotRecordedError(TachographError):
    """A view of content could not be recorded, so there is none. Start the broker and look again."""


class ViewLog(Protocol):
    """Where views of content are recorded."""

    def record(
        self, session: Session, *, kind: str, run_id: str = "", target: str = "", detail: str = "", remote: str = ""
    ) -> None:
        """Record a view; on return it is kept. Raises NotRecordedError."""

    def close(self) -> None:
        """Let go of the broker."""


class KafkaViewLog:
    """Views as rows on their topic. The sink lands them in ``content_views``."""

    def __init__(
        self,
        settings: Settings,
        *,
        within_s: float = RECORD_WITHIN_S,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        url = settings.schema_registry.url
        self._codec = Codec(registry=ConfluentRegistry(url) if url else None)
        self._clock = clock
        self._within_s = within_s
        # One at a time: whoever flushes also gets the answers of others.
        self._lock = threading.Lock()
        self._producer = Producer(
            settings.kafka.client(
                **{
                    "client.id": "tachograph-console",
                    "enable.idempotence": True,
                    "message.timeout.ms": int(within_s * 1000),
                    "partitioner": "murmur2_random",
                    "log_level": 0,
                }
            )
        )

    def record(
        self, session: Session, *, kind: str, run_id: str = "", target: str = "", detail: str = "", remote: str = ""
    ) -> None:
        """Write the row and wait until the broker has it."""
        row = {
            "tenant_id": session.tenant_id,
            "view_id": str(uuid.uuid4()),
            "viewer": session.viewer,
            "role": session.role.value,
            "kind": kind,
            "run_id": run_id,
            "target": target,
            "detail": detail[:DETAIL_LIMIT],
            "remote": remote,
            "occurred_at": self._clock() // 1000,
        }
        delivered: list[Any] = []
        with self._lock:
            try:
                self._producer.produce(
                    CONTENT_VIEWS.name,
                    self._codec.encode(_ROW, row),
                    session.tenant_id.encode(),
                    on_delivery=lambda error, _message: delivered.append(error),
                )
                self._producer.flush(self._within_s)
            except (KafkaException, BufferError) as error:
                delivered = [error]
        # By identity: a KafkaError that is compared with None leaves an exception behind that nobody raised.
        if not delivered or delivered[0] is not None:
            raise NotRecordedError(
                "This view could not be recorded, so the content is not shown. Look whether Kafka runs "
                "(tachograph status), then try again."
            )

    def close(self) -> None:
        """Nothing waits: every record was flushed."""
        self._producer.flush(self._within_s)
