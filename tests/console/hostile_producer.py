"""A producer that is not ours: it puts what it likes into every text of every record type, and publishes it."""

import uuid
from typing import Any

from confluent_kafka import Producer

from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import EVENTS
from tachograph.schemas.wire import Codec
from tests.processors.records import run_of

PAYLOAD = (
    "<script>alert(1)</script>\x1b[2J\x1b]0;owned\x07\u202efdp\u200b\x00 [bold]x[/] [/nope] ![i](https://evil.example)"
)
"""Everything at once, and a null byte."""

_KEPT = frozenset({"event_id", "trace_id", "tenant_id", "leg", "retention"})
"""Names that must hold, or the record belongs to nobody."""


def publish_hostile_run(settings: Settings) -> str:
    """A whole run. Returns the beginning of its id, which is as hostile as the rest."""
    start = f"hostile_{uuid.uuid4().hex[:8]}"
    trace = uuid.uuid4().hex
    codec, producer = Codec(), Producer(settings.kafka.client(partitioner="murmur2_random"))
    for name, record in run_of(start):
        spoiled = _spoil(record) | {"run_id": f"{start}{PAYLOAD}", "trace_id": trace, "agent_id": f"agent{PAYLOAD}"}
        producer.produce(EVENTS.name, codec.encode(name, spoiled), key=trace.encode())
    assert producer.flush(30) == 0
    return start


def _spoil(value: Any, name: str = "") -> Any:
    if isinstance(value, str):
        return value if name in _KEPT else PAYLOAD
    if isinstance(value, dict):
        return {key: _spoil(item, key) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spoil(item, name) for item in value]
    return value
