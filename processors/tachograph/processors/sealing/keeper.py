"""The heads of all logs, once a minute: read from the checkpoints topic, signed, anchored, published.

One sealer does it for all: the one that the group gave the first partition. It runs beside sealing, which never waits
for it. Every anchor that is down is counted and is a violation; the heads record says which anchors took it.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from tachograph.processors.deadletters import Message
from tachograph.processors.outputs import Outputs
from tachograph.processors.sealing import metrics
from tachograph.processors.sealing.anchors import Anchor, Receipt
from tachograph.processors.sealing.custody import Signer
from tachograph.processors.sealing.errors import AnchorError
from tachograph.processors.sealing.heads import HeadsBook, closed_minute, heads_row, sign_heads
from tachograph.processors.sealing.partition import Sealing
from tachograph.processors.sealing.reader import RangeReader
from tachograph.processors.violation_headers import violation_headers
from tachograph.processors.violations import Subject, violation
from tachograph.schemas.errors import WireError
from tachograph.schemas.proofs.encoding import to_base64
from tachograph.schemas.proofs.heads import Heads
from tachograph.schemas.proofs.keys import micros
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import CHECKPOINTS, HEADS, ViolationKind, violation_topic

log = logging.getLogger(__name__)

COMPONENT = "tachograph-sealer"
"""Whom a violation of an anchor is about: no agent, but us."""


class HeadsKeeper:
    """Publishes heads while it is told to lead."""

    def __init__(
        self,
        settings: Settings,
        sealing: Sealing,
        signer: Signer,
        anchors: Sequence[Anchor],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._every_s = settings.anchors.every_s
        self._timeout_s = settings.anchors.timeout_s
        self._partitions = settings.kafka.partitions
        self._with = sealing
        self._signer = signer
        self._anchors = anchors
        self._clock = clock
        self._outputs = Outputs(settings)
        self._reader = RangeReader(settings, f"{settings.sealer.group_id}-heads")
        self._checkpoints = sealing.outputs.output(CHECKPOINTS.name)
        self._heads = sealing.outputs.output(HEADS.name)
        self._book: HeadsBook | None = None
        self._read_to: dict[tuple[str, int], int] = {}
        self.leading = False

    async def run(self) -> None:
        """Go on until cancelled."""
        last = None
        while True:
            await asyncio.sleep(min(1.0, self._every_s / 4))
            if not self.leading:
                self._book = None
                continue
            minute = closed_minute(self._clock(), self._every_s)
            if self._book is None or minute != last:
                await self.publish()
                last = minute

    async def publish(self) -> int:
        """Say what is new, for the minute that was closed last. Returns how many heads records there were."""
        if self._book is None:
            self._book, self._read_to = HeadsBook(lambda: self._with.keys), {}
        book = self._book
        await asyncio.to_thread(self._catch_up, book)
        due = book.due(closed_minute(self._clock(), self._every_s))
        for heads in due:
            note, key_id = await asyncio.to_thread(sign_heads, heads, self._with.keys, self._signer)
            receipts, failed = await self._anchored(heads, note)
            await self._outputs.store([*failed, self._message(heads, note, key_id, receipts)])
            book.published(heads)
            metrics.HEADS.inc()
        return len(due)

    def close(self) -> None:
        """Leave the broker."""
        self._reader.close()
        self._outputs.close()

    async def _anchored(self, heads: Heads, note: str) -> tuple[list[Receipt], list[Message]]:
        receipts, failed = [], []
        for anchor in self._anchors:
            try:
                receipts.append(
                    await asyncio.wait_for(asyncio.to_thread(anchor.anchor, heads, note), self._timeout_s + 1)
                )
            except (AnchorError, TimeoutError) as error:
                reason = str(error) or f"no answer within {self._timeout_s:g} s"
                failed.append(self._failed(heads, anchor.kind, reason))
            except Exception as error:  # noqa: BLE001 - a plug-in may raise anything, and sealing must go on
                failed.append(self._failed(heads, anchor.kind, f"it raised {type(error).__name__}"))
        return receipts, failed

    def _failed(self, heads: Heads, kind: str, reason: str) -> Message:
        log.warning("the heads of a minute were not anchored by %s: %s", kind, reason)
        metrics.ANCHOR_FAILURES.labels(kind).inc()
        row = violation(
            Subject(heads.tenant_id, COMPONENT, "", "", micros(heads.minute)),
            ViolationKind.INTEGRITY,
            "integrity.anchor_failed",
            f"the anchor {kind} did not take the heads of a minute: {reason}",
            about=f"{kind} {heads.minute.isoformat()}",
            evidence=f"heads:{heads.minute.isoformat()}",
        )
        topic = self._with.outputs.output(violation_topic(ViolationKind.INTEGRITY))
        return Message(topic, 0, b"", self._with.codec.encode("rows.violations", row), [*violation_headers(row)])

    def _message(self, heads: Heads, note: str, key_id: str, receipts: Sequence[Receipt]) -> Message:
        given = [{"kind": r.kind, "reference": r.reference, "token": to_base64(r.token)} for r in receipts]
        value = self._with.codec.encode("rows.log_heads", heads_row(heads, note, key_id, given))
        return Message(self._heads, 0, heads.tenant_id.encode(), value, [])

    def _catch_up(self, book: HeadsBook) -> None:
        """Read what is new in both topics: what was said, and what there is to say."""
        places = [(self._heads, 0), *((self._checkpoints, partition) for partition in range(self._partitions))]
        for topic, partition in places:
            low, end = self._reader.bounds(topic, partition)
            start = max(low, self._read_to.get((topic, partition), 0))
            schema, take = (
                ("rows.log_heads", book.said) if topic == self._heads else ("rows.checkpoints", book.checkpoint)
            )
            for message in self._reader.messages(topic, partition, start, end):
                try:
                    row = self._with.codec.decode_as(schema, message.value())
                except WireError:
                    row = None
                if row is None or not take(row):
                    log.error("%s/%d holds something unsound at %s", topic, partition, message.offset())
            self._read_to[topic, partition] = end
