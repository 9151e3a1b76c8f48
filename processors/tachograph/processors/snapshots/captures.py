"""Captures as their headers tell of them, and the index of where they are. Never their bytes."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tachograph.schemas.enums import FaultTrigger
from tachograph.schemas.headers import Header

__all__ = ["Capture", "CaptureIndex", "CapturePart", "read_part"]


class CapturePart(NamedTuple):
    """One message of the captures topic, without its value."""

    partition: int
    offset: int
    append_time: int
    """When the broker appended it, in microseconds since 1970."""
    trace_id: str
    capture_id: str
    kind: str
    trigger: str
    tenant_id: str
    """Empty where an older recorder did not say."""
    agent_id: str
    run_id: str
    step_id: str | None
    event_id: str | None
    tool_use_id: str | None
    sha256: str
    key_id: str
    place: int
    parts: int

    @property
    def is_last_sample(self) -> bool:
        """Whether a sampled prompt is complete with this part: the parts of a capture arrive in order."""
        return self.trigger == FaultTrigger.SAMPLED.value and self.place == self.parts - 1


@dataclass(slots=True)
class Capture:
    """Where the parts of a capture are."""

    first: CapturePart
    offsets: dict[int, int] = field(default_factory=dict)
    """Offset by place among the parts."""
    append_time: int = 0
    """Of the part that came last."""

    @property
    def is_whole(self) -> bool:
        """Whether the place of every part is known."""
        return len(self.offsets) == self.first.parts


class CaptureIndex:
    """Captures by partition and id. Past its bound the oldest are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._captures: OrderedDict[tuple[int, str], Capture] = OrderedDict()

    def __len__(self) -> int:
        return len(self._captures)

    def observe(self, part: CapturePart) -> int | None:
        """Take note of a message. Returns the partition of a capture that had to be forgotten for it."""
        key = (part.partition, part.capture_id)
        capture = self._captures.get(key)
        if capture is None:
            capture = self._captures[key] = Capture(part)
        if (part.trace_id, part.parts, part.sha256) != (
            capture.first.trace_id,
            capture.first.parts,
            capture.first.sha256,
        ):
            return None  # another capture under a name that is taken: the first one counts
        capture.offsets.setdefault(part.place, part.offset)
        capture.append_time = max(capture.append_time, part.append_time)
        if len(self._captures) > self._most:
            return self._captures.popitem(last=False)[0][0]
        return None

    def find(self, partition: int, capture_id: str, trace_id: str) -> Capture | None:
        """A whole capture of that trace; None if it was not seen, or not all of it. Nobody gets another trace's."""
        capture = self._captures.get((partition, capture_id))
        return capture if capture is not None and capture.is_whole and capture.first.trace_id == trace_id else None


def read_part(
    partition: int,
    offset: int,
    append_time: int,
    key: bytes | None,
    headers: Iterable[tuple[str, str | bytes | None]],
) -> CapturePart | None:
    """What a message's headers say; None if it is not a capture."""
    found = {name: value.decode("utf-8", "replace") for name, value in headers if isinstance(value, bytes)}
    place, _, parts = found.get(Header.CAPTURE_PART.value, "").partition("/")
    if (
        not (place.isdecimal() and parts.isdecimal() and int(place) < int(parts))
        or Header.CAPTURE_ID.value not in found
    ):
        return None
    tenant_id, agent_id = _owner(found.get(Header.CE_SOURCE.value, ""))
    return CapturePart(
        partition=partition,
        offset=offset,
        append_time=append_time,
        trace_id=(key or b"").decode("utf-8", "replace"),
        capture_id=found[Header.CAPTURE_ID.value],
        kind=found.get(Header.CAPTURE_KIND.value, ""),
        trigger=found.get(Header.CAPTURE_TRIGGER.value, ""),
        tenant_id=tenant_id,
        agent_id=agent_id,
        run_id=found.get(Header.CAPTURE_RUN.value, ""),
        step_id=found.get(Header.CAPTURE_STEP.value) or None,
        event_id=found.get(Header.CAPTURE_EVENT.value) or None,
        tool_use_id=found.get(Header.CAPTURE_TOOL_USE.value) or None,
        sha256=found.get(Header.CAPTURE_SHA256.value, ""),
        key_id=found.get(Header.CAPTURE_KEY.value, ""),
        place=int(place),
        parts=int(parts),
    )


def _owner(source: str) -> tuple[str, str]:
    """Tenant and agent of ``/tenants/<tenant>/agents/<agent>``; empty where it is none."""
    tenant, found, agent = source.removeprefix("/tenants/").partition("/agents/")
    return (tenant, agent) if found and source.startswith("/tenants/") else ("", "")
