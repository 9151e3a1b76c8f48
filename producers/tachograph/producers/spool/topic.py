"""The two ends of one topic in this process's spool: where callers append, and the lane that sends."""

from typing import NamedTuple

from tachograph.producers.spool.cursor import CursorFile
from tachograph.producers.spool.files import Files
from tachograph.producers.spool.inlet import FileInlet, Inlet, QueueInlet
from tachograph.producers.spool.lane import Lane
from tachograph.producers.spool.options import SpoolOptions
from tachograph.producers.spool.source import Make, QueueSource, SegmentSource
from tachograph.producers.spool.subfolder import Subfolder


class OwnTopic(NamedTuple):
    """One topic that this process publishes to."""

    inlet: Inlet
    lane: Lane

    @property
    def done(self) -> bool:
        """Everything that was appended is done with."""
        return self.lane.passed >= self.inlet.total


def in_memory(spool: bytes, name: str, make: Make) -> OwnTopic:
    """A topic without files. ``make`` is for messages that are not made yet."""
    inlet = QueueInlet()
    return OwnTopic(inlet, Lane(spool, name, QueueSource(inlet.queue, make), None))


def in_files(files: Files, home: Subfolder, name: str, options: SpoolOptions) -> OwnTopic:
    """A topic with segments and a cursor. Raises OSError."""
    cursor = CursorFile(files, home.path, name)
    cursor.reserve()
    durable = options.durability == "disk"
    inlet = FileInlet(files, home, name, segment_bytes=options.segment_bytes, durable=durable)
    return OwnTopic(inlet, Lane(home.spool, name, SegmentSource(files, home.path, name, inlet), cursor))
