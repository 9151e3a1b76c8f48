"""Messages that the broker refuses for good, kept as segments under ``rejected/`` for a person to look at."""

import os
from pathlib import Path
from typing import Final

from tachograph.producers.spool.files import Files
from tachograph.producers.spool.frames import encode_body, encode_frame
from tachograph.producers.spool.lane import Entry
from tachograph.producers.spool.segment import SegmentName, encode_header, write_all

FOLDER: Final = "rejected"


def park(files: Files, root: Path, entry: Entry, now_ms: int) -> None:
    """Append a message under its spool's id, segment number and index. Raises OSError."""
    folder = root / FOLDER / entry.lane.spool.hex()
    files.mkdir(folder)
    name = SegmentName(entry.lane.topic, entry.segment)
    fd = files.open(name.path(folder), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        if os.fstat(fd).st_size == 0:
            write_all(files, fd, encode_header(entry.lane.spool, entry.segment, now_ms))
        write_all(files, fd, encode_frame(entry.frame, encode_body(entry.message)))
        files.sync(fd)
    finally:
        files.close(fd)
