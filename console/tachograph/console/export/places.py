"""Where rows stand: partition and offset of their topic, in which they landed in order. What is exported is counted so.

Within a partition the sink lands one range after the other, so whoever has everything below an offset has missed
nothing. That is what ``--follow`` remembers, and how a long export is cut into pages without sorting wide rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tachograph.console.database import Reader

Position = Mapping[int, int]
"""Offset to go on from, by partition. A partition that is not named begins with its first row."""

LOOKED_UP: Final = 100_000
"""Places that one question asks for; four small columns of each."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands, and the run it belongs to."""

    partition: int
    offset: int
    tenant_id: str
    run_id: str


def places(
    database: Reader,
    table: str,
    where: str,
    parameters: Mapping[str, Any],
    position: Position,
    *,
    limit: int = LOOKED_UP,
    runs: bool = True,
) -> list[Place]:
    """The next rows behind a position, in order. Fewer than ``limit``: that was all there is for now."""
    found = database.rows(
        f"SELECT _partition, _offset, tenant_id, {'run_id' if runs else repr('')} FROM {table} "  # noqa: S608 - our own names
        f"WHERE {where} AND {behind(position)} ORDER BY _partition, _offset LIMIT {{limit:UInt32}}",
        {**parameters, "limit": limit},
    )
    return [Place(*row) for row in found]


def unsettled(database: Reader, table: str, position: Position, settle_s: float) -> dict[int, int]:
    """First offset of each partition that landed less than so long ago."""
    found = database.rows(
        f"SELECT _partition, min(_offset) FROM {table} "  # noqa: S608 - our own names
        f"WHERE {behind(position)} AND _ingested_at > now64(3) - toIntervalMillisecond({{settle:UInt32}}) "
        "GROUP BY _partition",
        {"settle": round(settle_s * 1000)},
    )
    return {partition: offset for partition, offset in found}  # noqa: C416 - rows are sequences of any length


def ends(database: Reader, table: str, since_us: int | None = None) -> dict[int, int]:
    """The position behind everything that is there; or at the first row that landed at a moment or later."""
    after = "max(_offset) + 1"
    first = "minIf(_offset, _ingested_at >= fromUnixTimestamp64Micro({since:Int64}, 'UTC'))"
    some = "countIf(_ingested_at >= fromUnixTimestamp64Micro({since:Int64}, 'UTC')) > 0"
    chosen = after if since_us is None else f"if({some}, {first}, {after})"
    found = database.rows(
        f"SELECT _partition, {chosen} FROM {table} GROUP BY _partition",  # noqa: S608 - our own names
        {} if since_us is None else {"since": since_us},
    )
    return {partition: offset for partition, offset in found}  # noqa: C416 - as above


def behind(position: Position) -> str:
    """A condition: the rows that a position has not reached. Numbers only, so it is safe as text."""
    if not position:
        return "1"
    known = ", ".join(str(int(partition)) for partition in position)
    reached = [
        f"(_partition = {int(partition)} AND _offset >= {int(offset)})" for partition, offset in position.items()
    ]
    return f"({' OR '.join(reached)} OR _partition NOT IN ({known}))"


def within(page: Sequence[Place]) -> str:
    """A condition that holds for the rows of a page, and for few others."""
    bounds: dict[int, list[int]] = {}
    for place in page:
        bounds.setdefault(place.partition, []).append(place.offset)
    return "({})".format(
        " OR ".join(
            f"(_partition = {partition} AND _offset BETWEEN {min(offsets)} AND {max(offsets)})"
            for partition, offsets in bounds.items()
        )
    )


def pages(found: Sequence[Place], size: int) -> Iterator[Sequence[Place]]:
    """Places in pages of at most so many."""
    for start in range(0, len(found), size):
        yield found[start : start + size]


def reached(position: Position, page: Sequence[Place]) -> dict[int, int]:
    """The position once a page is done."""
    moved = dict(position)
    for place in page:
        moved[place.partition] = max(moved.get(place.partition, 0), place.offset + 1)
    return moved
