"""Writes messages and waits until the broker has them."""

import asyncio
import logging
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from confluent_kafka import KafkaError, Producer

from tachograph.processors.deadletters import Message
from tachograph.processors.errors import OutputsNotStoredError
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import DLQ

_FULL_QUEUE_WAIT_S: Final = 0.05

_ERRORS_ONLY: Final = 3
"""Syslog level. Warnings are about retries, which succeed or end in an error."""

log = logging.getLogger(__name__)


def _config(settings: Settings) -> dict[str, Any]:
    return {
        **settings.kafka.client(),
        "client.id": f"{settings.worker.app_id}-outputs",
        "acks": "all",
        # Within a partition, messages arrive in the order they were handed over and once.
        "enable.idempotence": True,
        # A sink keeps the highest source coordinates it has landed and drops whatever is not above them. If a
        # message failed for good and a later one of its partition were delivered, the mark would pass the
        # failed one, and when a restarted worker made it again it would be dropped as a repeat: lost without
        # a trace. With this on, a message that cannot be delivered makes the producer fail as a whole, so
        # nothing after it is written, the worker stops, and its successor starts from before it.
        "enable.gapless.guarantee": True,
        "compression.type": "zstd",
        "linger.ms": 5,
        "log_level": _ERRORS_ONLY,
        # The guarantee does not cover messages that time out in the queue, so none does: time is watched by
        # the flush, whose end is the end of the worker.
        "message.timeout.ms": 0,
        # Bounds memory; a full queue is waited for.
        "queue.buffering.max.messages": 50_000,
        "queue.buffering.max.kbytes": 131_072,
        # Rows are at most 1,000,000 bytes; a dead letter is as large as the broker took, and has more headers.
        "message.max.bytes": DLQ.max_message_bytes,
        # Success is what flush says when nothing is left; only failures are worth a callback per message.
        "delivery.report.only.error": True,
    }


class Outputs:
    """An idempotent producer that says when messages are stored."""

    def __init__(self, settings: Settings) -> None:
        self._timeout_s = settings.worker.delivery_timeout_s
        self._failure: str | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="outputs")
        self._producer = Producer(_config(settings) | {"on_delivery": self._on_delivery}, logger=log)

    async def store(self, messages: Iterable[Message]) -> None:
        """Write messages, in order, and return when the broker has acknowledged these and all before them.

        The event loop goes on meanwhile. After an OutputsNotStoredError some of them may have been written; none may
        be counted on.
        """
        await self.hand_over(messages)
        self._check(await self._in_thread(self._producer.flush, self._timeout_s))

    async def hand_over(self, messages: Iterable[Message]) -> None:
        """Begin to write messages: the producer's own threads pack and send them. Nothing may be counted on yet."""
        produce = self._producer.produce
        for topic, partition, key, value, headers in messages:
            while True:
                try:
                    produce(topic, value, key, partition, headers=headers)
                    break
                except BufferError:
                    await self._in_thread(self._producer.poll, _FULL_QUEUE_WAIT_S)
                    self._check(0)

    async def _in_thread(self, call: Any, *arguments: float) -> int:
        done: int = await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)
        return done

    def _check(self, waiting: int) -> None:
        if self._failure is None and waiting:
            self._failure = f"{waiting} messages are still waiting"
        if self._failure is not None:
            raise OutputsNotStoredError(
                f"the broker did not take the worker's outputs ({self._failure}); nothing of this batch was "
                "acknowledged, so restart the worker when the broker is well again"
            )

    def _on_delivery(self, error: KafkaError | None, _message: object) -> None:
        if error is not None and self._failure is None:
            self._failure = error.name()
            log.error("an output could not be delivered: %s", error.name())

    def close(self) -> None:
        """Drop what was not delivered and free the threads."""
        self._producer.purge()
        self._producer.flush(1.0)
        self._thread.shutdown(wait=True)
