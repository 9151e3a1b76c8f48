"""Small builders that the recorder's tests share."""

from collections.abc import Callable
from typing import Any, Final

from tachograph.producers import Tracer, TracerOptions
from tachograph.producers.captures import CaptureKey, bound_to
from tachograph.producers.publishing import Message, Publisher
from tachograph.producers.testing import FixedClock, InMemoryPublisher, SequentialIds
from tachograph.schemas import models
from tachograph.schemas.enums import DropReason
from tachograph.schemas.headers import Header
from tachograph.schemas.wire import from_avro

KEY: Final = CaptureKey(bytes(range(32)))
SECRET: Final = "sk-ant-api03-" + "Ab1" * 31 + "AA"
"""What the default rules redact; it guards nothing."""


def make_tracer(publisher: Publisher | None = None, **fields: Any) -> Tracer:
    """A tracer that repeats itself exactly and writes no file."""
    given: dict[str, Any] = {
        "agent_id": "agent",
        "agent_version": "1.0",
        "publisher": publisher if publisher is not None else InMemoryPublisher(),
        "capture_key": KEY,
        "clock": FixedClock(),
        "ids": SequentialIds(),
    }
    return Tracer(**(given | fields))


def explicit(**fields: Any) -> TracerOptions:
    """Options of a run that writes only the manifests it is told to."""
    return TracerOptions(manifests="explicit", **fields)


def drop_when(wanted: Callable[[Message], bool]) -> Callable[[Message], DropReason | None]:
    """A publisher's refusal by a condition."""
    return lambda message: DropReason.SPOOL_FULL if wanted(message) else None


def validated(publisher: InMemoryPublisher) -> list[models.Record]:
    """Every kept record, through its model: what the builders write, the contract accepts."""
    return [from_avro(getattr(models, kept.type), kept.record) for kept in publisher.records]


def types(publisher: InMemoryPublisher) -> list[str]:
    return [kept.type for kept in publisher.records]


def decrypted(message: Message) -> bytes:
    """Plain bytes of one capture message."""
    headers = {name: value.decode() for name, value in message.headers}
    part, parts = headers[Header.CAPTURE_PART].split("/")
    where = bound_to(
        message.key.decode(), headers[Header.CAPTURE_ID], headers[Header.CAPTURE_KIND], int(part), int(parts)
    )
    return KEY.decrypt(message.value, where)
