"""When bad input stops being an accident."""

from collections import deque

from tachograph.processors.errors import DeadLetterLimitError
from tachograph.schemas.settings import DeadLetterSettings


class DeadLetterLimits:
    """Watches the outcome of every record and raises when there are too many dead letters.

    Two limits: a share of the last records of all partitions, which catches a bad deployment of one producer among
    many; and a row of them on one partition, which catches it long before the share does.
    """

    def __init__(self, settings: DeadLetterSettings) -> None:
        self._settings = settings
        self._window: deque[bool] = deque(maxlen=settings.ratio_window)
        self._dead_in_window = 0
        self._consecutive: dict[int, int] = {}

    def record(self, partition: int, *, dead: bool) -> None:
        """One more record. Raises DeadLetterLimitError if it is one too many."""
        window = self._window
        if len(window) == window.maxlen:
            self._dead_in_window -= window[0]
        window.append(dead)
        if not dead:
            self._consecutive[partition] = 0
            return
        self._dead_in_window += 1
        self._consecutive[partition] = self._consecutive.get(partition, 0) + 1
        self._judge(partition)

    def _judge(self, partition: int) -> None:
        settings = self._settings
        if self._consecutive[partition] > settings.max_consecutive:
            raise DeadLetterLimitError(
                f"more than {settings.max_consecutive} records in a row on partition {partition} could not be read; "
                "the last errors are in the log above: check what the producers of this partition send, or raise "
                "dlq.max_consecutive"
            )
        seen = len(self._window)
        if seen == settings.ratio_window and self._dead_in_window > settings.max_ratio * seen:
            raise DeadLetterLimitError(
                f"{self._dead_in_window} of the last {seen} records could not be read, more than dlq.max_ratio "
                f"allows ({settings.max_ratio}); the last errors are in the log above: check what was deployed "
                "last, or raise dlq.max_ratio"
            )
