"""Log lines that would repeat for as long as something is wrong, each at most once a minute."""

import logging
import re
import time
from collections.abc import Callable
from typing import Final

LOGGER: Final = logging.getLogger("tachograph.spool")
_INTERVAL_S: Final = 60.0
_MOST_KNOWN: Final = 1000
_VARYING: Final = re.compile(r"\[rdkafka#[^\]]*\] |\(after [^)]*\)")
"""Parts of the Kafka client's lines that change though they say the same: which client object, after how long."""


class Complaints:
    """Says each thing once, and again when it still holds a minute later. Never carries content of messages."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[str, float] = {}

    def say(self, sentence: str, *details: object) -> None:
        """Warn, unless the same sentence was said less than a minute ago."""
        if self.is_due(sentence):
            LOGGER.warning(sentence, *details)

    def is_due(self, sentence: str) -> bool:
        """Whether the sentence was not said for a minute. Asking counts as saying it."""
        now = self._clock()
        last = self._said.get(sentence)
        if last is not None and now - last < _INTERVAL_S:
            return False
        if len(self._said) >= _MOST_KNOWN:
            self._said.clear()
        self._said[sentence] = now
        return True


class Seldom(logging.Filter):
    """Lets each line of the Kafka client through once a minute: it repeats itself at every attempt to connect."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._complaints = Complaints(clock)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is news. That the gapless guarantee is experimental is none: crash tests ask for it."""
        message = record.getMessage()
        return "enable.gapless.guarantee" not in message and self._complaints.is_due(_VARYING.sub("", message))
