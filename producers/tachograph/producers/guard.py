"""Recording never breaks the agent: the one place where the recorder's own errors end.

An error is counted, logged once for each place and class, and swallowed. It is raised where somebody is there to fix
it: with ``strict=True``, and under pytest unless ``strict=False`` was asked for.
"""

import logging
import os
import threading
from collections import Counter
from typing import Final

from tachograph.producers.errors import RecorderStop, RecordRefusedError
from tachograph.producers.publishing import Dropped

_LOG: Final = logging.getLogger("tachograph.producers")
_PYTEST: Final = "PYTEST_CURRENT_TEST"


class Guard:
    """Holds back the recorder's own errors. Safe to use from any thread."""

    def __init__(self, *, strict: bool | None = None) -> None:
        self.strict = strict
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._logged: set[tuple[str, str]] = set()

    @property
    def is_loud(self) -> bool:
        """Whether errors are raised here and now."""
        return _PYTEST in os.environ if self.strict is None else self.strict

    @property
    def counts(self) -> dict[str, int]:
        """Errors so far, by the place they happened in."""
        with self._lock:
            return dict(self._counts)

    def swallow(self, place: str, error: Exception) -> None:
        """Deal with an error of the recorder. Raises it if that is wanted, or if it is meant for the agent."""
        if isinstance(error, RecorderStop) or (isinstance(error, Dropped) and error.for_agent):
            raise error
        # What is outside the contract is said in our own words; the text of any other error may be content.
        told = f"{type(error).__name__}: {error}" if isinstance(error, RecordRefusedError) else type(error).__name__
        self.note(place, told)
        if self.is_loud:
            raise error

    def note(self, place: str, kind: str) -> None:
        """Count something that went wrong; log it the first time. ``kind`` must carry no content."""
        with self._lock:
            self._counts[place] += 1
            first = (place, kind) not in self._logged
            self._logged.add((place, kind))
        if first:
            _LOG.warning("recording failed in %s (%s); the agent goes on, later failures are only counted", place, kind)
