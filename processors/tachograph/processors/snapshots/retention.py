"""Keeps retention: bytes whose time is over are deleted, and their pointers say so.

Part of the snapshot step, so that it needs no operator and no cron. Of several steps the one that holds the first
partition does it; should two do it at once, both delete the same bytes and say so.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from tachograph.processors.errors import WorkerError
from tachograph.schemas.settings import ArtifactSettings
from tachograph.sinks.artifacts import ArtifactStore, ArtifactStoreError, Entry

__all__ = ["collect", "keep_retention"]

log = logging.getLogger(__name__)

_LOOK_AGAIN_S: Final = 1.0

Publish = Callable[[list[Entry]], Awaitable[object]]
"""Puts removals on record; on return they are."""


async def collect(store: ArtifactStore, settings: ArtifactSettings, now: int, publish: Publish) -> list[Entry]:
    """Remove what retention no longer keeps at ``now`` (microseconds), and put that on record. Returns what it was.

    The bytes go first, then the pointers say so, then the entries are final: who dies in between is repeated.
    """
    removed = [await store.expire(entry, now) for entry in await store.due(now, settings)]
    if removed:
        await publish(removed)
        for entry in removed:
            await store.expired(entry)
    return removed


async def keep_retention(
    store: ArtifactStore,
    settings: ArtifactSettings,
    publish: Publish,
    *,
    is_ours: Callable[[], bool],
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Collect at once and then every ``collect_every_s``, for as long as it is ours to do. Ends when cancelled."""
    due_at = 0.0
    while True:
        now = clock()
        if now >= due_at and is_ours():
            due_at = now + settings.collect_every_s
            try:
                removed = await collect(store, settings, round(now * 1_000_000), publish)
            except (ArtifactStoreError, WorkerError) as error:
                log.error("retention could not be kept (%s), and is tried again: %s", type(error).__name__, error)  # noqa: TRY400 - the class and its sentence say it
            else:
                if removed:
                    log.info("retention: the bytes of %d artifacts were removed", len(removed))
        await sleep(_LOOK_AGAIN_S)
