"""The Faust app: how it is set up, and what of Faust is left out."""

from typing import Any, Final

import faust
from faust.sensors.monitor import Monitor
from faust.transport.base import Transport

from tachograph.processors.credentials import credentials
from tachograph.processors.transport import FAUST_LOG, WorkerTransport
from tachograph.schemas.settings import Settings

COMMIT_INTERVAL_S: Final = 0.5
"""Seconds between commits. What is processed but not committed is read again after a crash and skipped."""

_BUFFERED_BATCHES: Final = 2
"""Batches' worth of records that may wait in memory while one is being processed."""


class WorkerApp(faust.App):
    """A Faust app without folders, web server, leader topic, or topics of its own making."""

    logger = FAUST_LOG

    def _new_transport(self) -> Transport:
        return WorkerTransport(self.conf.broker_consumer, self)

    def _create_directories(self) -> None:
        """Nothing is kept on disk: state is recovered from the changelog."""


def build_app(settings: Settings) -> Any:
    """An app that is not started yet. Call it inside the event loop it will run on."""
    worker = settings.worker
    brokers = [f"kafka://{server.strip()}" for server in settings.kafka.bootstrap_servers.split(",")]
    return WorkerApp(
        worker.app_id,
        broker=brokers,
        broker_credentials=credentials(settings.kafka),
        broker_client_id=worker.app_id,
        consumer_group_instance_id=worker.instance_id or None,
        consumer_auto_offset_reset="earliest",
        broker_session_timeout=worker.session_timeout_s,
        broker_heartbeat_interval=worker.session_timeout_s / 3,
        broker_rebalance_timeout=max(60.0, worker.session_timeout_s),
        broker_request_timeout=max(90.0, worker.session_timeout_s),
        broker_commit_interval=COMMIT_INTERVAL_S,
        broker_max_poll_records=worker.batch_size,
        store="memory://",
        stream_buffer_maxsize=worker.batch_size * _BUFFERED_BATCHES,
        stream_wait_empty=False,
        stream_recovery_delay=0.0,
        topic_allow_declare=False,
        topic_disable_leader=True,
        reply_create_topic=False,
        producer_acks=-1,
        web_enabled=False,
        autodiscover=False,
        monitor=_Unmonitored(),
    )


class _Unmonitored(Monitor):
    """Faust's monitor without its bookkeeping per message: our counters are added to once per batch."""

    logger = FAUST_LOG

    def on_message_in(self, tp: Any, offset: int, message: Any) -> None:
        pass

    def on_stream_event_in(self, tp: Any, offset: int, stream: Any, event: Any) -> None:
        pass

    def track_tp_end_offset(self, tp: Any, offset: int) -> None:
        pass
