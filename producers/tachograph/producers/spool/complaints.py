"""Log lines that would repeat for as long as something is wrong, each at most once a minute."""

import logging
import time
from collections.abc import Callable
from typing import Final

LOGGER: Final = logging.getLogger("tachograph.spool")
_INTERVAL_S: Final = 60.0


class Complaints:
    """Says each thing once, and again when it still holds a minute later. Never carries content of messages."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[str, float] = {}

    def say(self, sentence: str, *details: object) -> None:
        """Warn, unless the same sentence was said less than a minute ago."""
        now = self._clock()
        last = self._said.get(sentence)
        if last is None or now - last >= _INTERVAL_S:
            self._said[sentence] = now
            LOGGER.warning(sentence, *details)
