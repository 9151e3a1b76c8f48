"""Opening a stored snapshot: the tenant's key, and for a capture the recorder's, must be on this machine."""

import asyncio

from tachograph.schemas.settings import Settings
from tachograph.sinks.artifacts import Content, open_store
from tachograph.sinks.artifacts.capture import opened_capture, unpacked
from tachograph.sinks.artifacts.keys import read_key_file


def snapshot_bytes(settings: Settings, tenant_id: str, artifact_id: str) -> bytes:
    """The plain bytes. Raises ArtifactStoreError, whose text says what to do."""
    return asyncio.run(_opened(settings, tenant_id, artifact_id))


async def _opened(settings: Settings, tenant_id: str, artifact_id: str) -> bytes:
    store = open_store(settings)
    entry = await store.entry(tenant_id, artifact_id)
    data = await store.get(tenant_id, artifact_id)
    if entry.content is Content.CAPTURE:
        key = read_key_file(settings.home / "keys" / "capture.key", "the recorder's capture key")
        return opened_capture(unpacked(data), key)
    return data
