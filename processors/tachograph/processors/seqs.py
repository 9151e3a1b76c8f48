"""Which places of a run have arrived: half-open ranges in one flat list, ``[start, end, start, end, ...]``.

A run that arrives in order is one range, whatever its length.
"""

from bisect import bisect_right
from typing import Final

MOST_RANGES: Final = 256
"""Ranges kept for one run. Past that the two lowest are joined, and what was between them counts as never arriving."""


class Seqs:
    """The places that arrived."""

    __slots__ = ("given_up", "ranges")

    def __init__(self) -> None:
        self.ranges: list[int] = []
        self.given_up: int = 0
        """Places between ranges that were joined because there were too many."""

    def add(self, seq: int) -> bool:
        """Mark a place. False if it was marked before."""
        ranges = self.ranges
        if ranges and ranges[-1] == seq:  # the next one, as nearly always
            ranges[-1] = seq + 1
            return True
        place = bisect_right(ranges, seq)
        if place % 2:  # inside a range
            return False
        joins_left = place > 0 and ranges[place - 1] == seq
        joins_right = place < len(ranges) and ranges[place] == seq + 1
        if joins_left and joins_right:
            del ranges[place - 1 : place + 1]
        elif joins_left:
            ranges[place - 1] = seq + 1
        elif joins_right:
            ranges[place] = seq
        else:
            ranges[place:place] = [seq, seq + 1]
            if len(ranges) > 2 * MOST_RANGES:
                self.given_up += ranges[2] - ranges[1]
                del ranges[1:3]
        return True

    def missing(self, emitted: int) -> int:
        """How many of the first ``emitted`` places did not arrive."""
        arrived = 0
        for start, end in zip(self.ranges[::2], self.ranges[1::2], strict=True):
            arrived += max(0, min(end, emitted) - start)
        return emitted - arrived + self.given_up

    def gaps(self, emitted: int, most: int = 5) -> str:
        """The first gaps among ``emitted`` places, in words: ``3, 7 to 9``."""
        edges = [0, *self.ranges, emitted]
        found = []
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            last = min(end, emitted) - 1
            if last >= start:
                found.append(str(start) if start == last else f"{start} to {last}")
        more = len(found) - most
        return ", ".join(found[:most]) + (f" and {more} more gaps" if more > 0 else "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seqs) and (self.ranges, self.given_up) == (other.ranges, other.given_up)

    __hash__ = None  # type: ignore[assignment]  # it changes
