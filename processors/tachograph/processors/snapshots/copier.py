"""Copies captures, still encrypted, from Kafka to the artifact store, and says in rows what became of each."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from tachograph.processors.snapshots.captures import Capture, CaptureIndex
from tachograph.processors.snapshots.requests import SnapshotRequest
from tachograph.processors.snapshots.rows import (
    SnapshotOutput,
    capture_row,
    missing_outputs,
    snapshot_row,
    stored_outputs,
)
from tachograph.schemas.enums import RetentionClass
from tachograph.schemas.settings import SnapshotSettings
from tachograph.sinks.artifacts import ArtifactStore, ArtifactStoreError, Content, Entry
from tachograph.sinks.artifacts.capture import CaptureBlob, packed
from tachograph.sinks.artifacts.errors import StoreUnavailableError

__all__ = ["Captures", "SnapshotCopier"]

log = logging.getLogger(__name__)

_ATTEMPTS: Final = 3
_RETRY_S: Final = 0.5
_LOOK_AGAIN_S: Final = 0.25


class Captures(Protocol):
    """The captures topic, as a copier needs it. Calls block; they are made from one thread at a time."""

    def scan(self, partition: int, since: int) -> None:
        """Note every capture appended since then in the index."""

    def fetch(self, partition: int, offsets: Sequence[int]) -> list[bytes] | None:
        """Values at offsets; None if one is gone."""


class SnapshotCopier:
    """Answers requests. The same request twice gives the same artifact and the same rows."""

    def __init__(
        self,
        captures: Captures,
        index: CaptureIndex,
        store: ArtifactStore,
        settings: SnapshotSettings,
        *,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._captures = captures
        self._index = index
        self._store = store
        self._settings = settings
        self._now = now
        self._sleep = sleep
        self._reading = asyncio.Lock()
        self._room = asyncio.Semaphore(settings.copies_at_once)

    async def copy(self, requests: Sequence[SnapshotRequest]) -> list[list[SnapshotOutput]]:
        """Outputs of each request, in their order."""
        # Asked for in the order of the topic, the captures are read in one go instead of one assignment each.
        order = sorted(range(len(requests)), key=lambda place: (requests[place].partition, requests[place].append_time))
        outputs = await asyncio.gather(*(self._one(requests[place]) for place in order))
        answered = dict(zip(order, outputs, strict=True))
        return [answered[place] for place in range(len(requests))]

    async def _one(self, request: SnapshotRequest) -> list[SnapshotOutput]:
        if request.capture_id is None:
            return missing_outputs(request, snapshot_row(request), "the recorder could not keep it")
        capture = await self._located(request, request.capture_id)
        if capture is None:
            return missing_outputs(request, snapshot_row(request), "it is not, or no longer, in the captures topic")
        row = capture_row(request, capture)
        async with self._room:
            offsets = [capture.offsets[place] for place in range(capture.first.parts)]
            async with self._reading:
                values = await asyncio.to_thread(self._captures.fetch, request.partition, offsets)
            if values is None:
                return missing_outputs(request, row, "it is no longer in the captures topic")
            try:
                entry = await self._kept(request, capture, values, row)
            except ArtifactStoreError as error:
                log.error("a snapshot could not be stored (%s): %s", type(error).__name__, error)  # noqa: TRY400 - the class and its sentence say it
                return missing_outputs(request, row, f"the artifact store did not take it ({type(error).__name__})")
        return stored_outputs(row, entry)

    async def _located(self, request: SnapshotRequest, capture_id: str) -> Capture | None:
        """Where a capture is. One that is still on its way is waited for, up to the grace after its record."""
        asked_at = request.append_time / 1_000_000
        since = request.append_time - round(self._settings.lookback_s * 1_000_000)
        while True:
            is_late = self._now() >= asked_at + self._settings.grace_s
            found = self._index.find(request.partition, capture_id, request.trace_id)
            if found is None:
                async with self._reading:
                    found = self._index.find(request.partition, capture_id, request.trace_id)
                    if found is None:
                        await asyncio.to_thread(self._captures.scan, request.partition, since)
                        found = self._index.find(request.partition, capture_id, request.trace_id)
            if found is not None or is_late:
                return found if found is None or found.first.tenant_id in {"", request.tenant_id} else None
            await self._sleep(_LOOK_AGAIN_S)

    async def _kept(
        self, request: SnapshotRequest, capture: Capture, values: list[bytes], row: dict[str, object]
    ) -> Entry:
        first = capture.first
        blob = packed(
            CaptureBlob(
                trace_id=first.trace_id,
                capture_id=first.capture_id,
                kind=first.kind,
                key_id=first.key_id,
                sha256=first.sha256,
                parts=tuple(values),
            )
        )
        for attempt in range(_ATTEMPTS):
            try:
                return await self._store.put(
                    blob,
                    tenant_id=request.tenant_id,
                    subject=f"run:{request.run_id}",
                    created_at=capture.append_time,
                    retention=RetentionClass.SHORT,
                    content=Content.CAPTURE,
                    record=row,
                )
            except StoreUnavailableError:
                if attempt == _ATTEMPTS - 1:
                    raise
                await self._sleep(_RETRY_S * 2**attempt)
        raise AssertionError("unreachable: the last attempt returns or raises")
