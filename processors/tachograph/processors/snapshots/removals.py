"""Puts on record that the bytes of snapshots were removed: their pointers say so from then on."""

from collections.abc import Iterable

from tachograph.processors.deadletters import Message
from tachograph.processors.names import TopicNames
from tachograph.processors.outputs import Outputs
from tachograph.processors.snapshots.rows import stored_outputs
from tachograph.schemas.settings import Settings
from tachograph.schemas.wire import Codec
from tachograph.schemas.wire.registry import ConfluentRegistry
from tachograph.sinks.artifacts import Entry

__all__ = ["publish_removals", "removal_messages"]


def removal_messages(entries: Iterable[Entry], names: TopicNames, codec: Codec) -> list[Message]:
    """A snapshot row for each removed artifact that is a snapshot. It has no source: it was made of no record."""
    messages = []
    for entry in entries:
        if entry.record.get("snapshot_id"):
            [output] = stored_outputs(entry.record, entry)
            partition, key = entry.record["capture_partition"], entry.record["trace_id"].encode()
            messages.append(
                Message(names.output(output.topic), partition, key, codec.encode(output.schema, output.row), [])
            )
    return messages


async def publish_removals(settings: Settings, entries: Iterable[Entry], names: TopicNames | None = None) -> int:
    """Write the rows; on return the broker has them. Returns how many there were."""
    registry = settings.schema_registry.url
    codec = Codec(registry=None if registry is None else ConfluentRegistry(registry))
    messages = removal_messages(entries, names or TopicNames(), codec)
    if messages:
        outputs = Outputs(settings)
        try:
            await outputs.store(messages)
        finally:
            outputs.close()
    return len(messages)
