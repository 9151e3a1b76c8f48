"""What the sink writes beside a committed offset: the range it is about to insert, and its high-water marks.

Before an insert the current offset is committed with the planned end; after it, the end is committed without one. So
whoever starts here next knows whether the range that follows may have landed, and repeats exactly that range under
exactly the same token.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from tachograph.sinks.clickhouse.repeats import Marks
from tachograph.sinks.errors import OffsetMetadataError

NOTE_VERSION: Final = 1

# The broker's offset.metadata.max.bytes is 4096 by default. About sixty streams fit; a partition of a row topic has
# one, a partition of the dead-letter topic as many as there are topics.
MAX_NOTE_BYTES: Final = 4000


@dataclass(frozen=True, slots=True)
class Note:
    """Metadata of one committed offset."""

    end: int | None = None
    """Where the planned range ends, exclusive. None: everything before the offset has landed, nothing after."""
    marks: Marks = field(default_factory=dict)
    """High-water marks as of the committed offset, before the planned range."""

    def to_text(self) -> str:
        """Compact JSON. Streams that were silent longest are left out if they do not fit."""
        marks = dict(self.marks)
        while len(text := self._render(marks)) > MAX_NOTE_BYTES:
            marks.pop(next(iter(marks)))
        return text

    def _render(self, marks: Marks) -> str:
        note: dict[str, Any] = {"v": NOTE_VERSION, "hwm": marks}
        if self.end is not None:
            note["end"] = self.end
        return json.dumps(note, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str | None) -> "Note":
        """Read metadata back. An offset that was set by hand has none, and that is an empty note."""
        if not text:
            return cls()
        try:
            found = json.loads(text)
            version = found["v"]
            if version == NOTE_VERSION:
                marks = {str(stream): (int(mark[0]), int(mark[1])) for stream, mark in found["hwm"].items()}
                return cls(None if found.get("end") is None else int(found["end"]), marks)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            raise OffsetMetadataError(
                "the offsets of this consumer group carry metadata that is not the sink's. "
                "Is sink.group_id used by another program? Give the sink a group of its own."
            ) from None
        raise OffsetMetadataError(
            f"the offsets were committed by a sink with notes of version {version}; this one writes {NOTE_VERSION}. "
            "Run the newer sink."
        )
