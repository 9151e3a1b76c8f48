"""Sparing Python's collector of cycles, for a process that is nothing but a sink."""

import gc
from typing import Final

_COUNTS: Final = (50_000, 20, 50)
"""New objects before the youngest are looked through, and how often that is done before older ones are. A batch is tens
of thousands of messages, none in a cycle, all alive for a moment: with Python's 700, going through them again and again
was a quarter of the sink's time."""


def spare_collector() -> None:
    """Leave what is loaded alone, and look through what comes less often. For the whole process."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COUNTS)
