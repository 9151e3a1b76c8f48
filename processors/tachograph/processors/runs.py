"""The runs of one partition: their states in memory, and when they may be forgotten."""

from collections.abc import Iterable, Iterator
from typing import Final

from tachograph.processors.state import RunState

_HOUR: Final = 3_600_000_000

ENDED_GRACE: Final = _HOUR
"""Microseconds for which the state of a finished run is kept: late records of it are still counted, and a worker that
repeats its last batches after a crash still finds what it had applied."""

SILENT_GRACE: Final = 7 * 24 * _HOUR
"""Microseconds after which a run without an end is forgotten: as long as the events topic keeps its records. Without
this, runs that were killed would stay in the changelog forever."""


class Runs:
    """States by run. Both maps are ordered by each run's last record, so what can be forgotten is at their front."""

    def __init__(self) -> None:
        self._open: dict[bytes, RunState] = {}
        self._ended: dict[bytes, RunState] = {}
        self.newest: int = 0
        """Broker time of the newest record that was applied to any of them."""

    def get(self, key: bytes) -> RunState | None:
        """State of a run, if any of its records were seen."""
        return self._open.get(key) or self._ended.get(key)

    def put(self, key: bytes, state: RunState) -> None:
        """The run was touched: it is now the last to be forgotten."""
        self._open.pop(key, None)
        self._ended.pop(key, None)
        (self._ended if state.ended else self._open)[key] = state
        self.newest = max(self.newest, state.last_append_time)

    def forget(self, key: bytes) -> None:
        """Drop a run."""
        self._open.pop(key, None)
        self._ended.pop(key, None)

    def restore(self, key: bytes, value: bytes | None) -> None:
        """Apply one entry of the changelog.

        Of two states of a run the one that applied more wins, whatever their order: a worker that lost the partition
        without knowing may have written an older one late.
        """
        if value is None:
            self.forget(key)
            return
        state, known = RunState.from_bytes(value), self.get(key)
        if known is None or state.last_offset >= known.last_offset:
            self.put(key, state)

    def settle(self) -> None:
        """Bring restored runs into the order of their last records."""
        for runs in (self._open, self._ended):
            for key in sorted(runs, key=lambda key: (runs[key].last_append_time, runs[key].last_offset)):
                runs[key] = runs.pop(key)

    def forgettable(self, now: int) -> Iterator[bytes]:
        """Runs whose time is over by ``now``, the append time of a later record."""
        yield from _older(self._ended.items(), now - ENDED_GRACE)
        yield from _older(self._open.items(), now - SILENT_GRACE)

    def silent_since(self, limit: int) -> Iterator[tuple[bytes, RunState]]:
        """Open runs whose last record was appended at ``limit`` or before, in the order of those records."""
        for key, state in self._open.items():
            if state.last_append_time > limit:
                return
            yield key, state

    def open_calls(self) -> int:
        """Tool calls that lack a part."""
        return sum(len(state.calls) for state in self._open.values())

    def open_count(self) -> int:
        """Runs that have not ended."""
        return len(self._open)

    def __len__(self) -> int:
        return len(self._open) + len(self._ended)


def _older(runs: Iterable[tuple[bytes, RunState]], limit: int) -> Iterator[bytes]:
    for key, state in runs:
        if state.last_append_time > limit:
            return
        yield key
