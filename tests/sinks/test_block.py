"""Raw message bytes become Avro files that any reader can read."""

from datetime import datetime
from io import BytesIO
from random import Random
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.schemas.errors import UnknownFramingError, UnknownSchemaError, WrongTypeError
from tachograph.schemas.tables import BY_NAME, TABLES
from tachograph.schemas.wire import Codec
from tachograph.schemas.wire.convert import micros
from tachograph.schemas.wire.framing import confluent_prefix
from tachograph.schemas.wire.registry import ConfluentRegistry
from tachograph.sinks.clickhouse.block import Rows, build
from tachograph.sinks.clickhouse.schemas import RowSchemas
from tachograph.sinks.clickhouse.varint import OffsetVarints, varint
from tests.sinks.messages import FakeMessage, source
from tests.sinks.rows import encoded, random_row, sample_row

OFFSETS = st.one_of(st.integers(0, 2**63 - 1), st.sampled_from([0, 63, 64, 8191, 8192, 2**20, 2**21 - 1, 2**35]))


def read(rows: Rows, low: int = 0, high: int | None = None) -> list[Any]:
    """What an independent reader finds in the file, times as plain numbers."""
    file = rows.file(low, len(rows) if high is None else high)
    return [_plain(row) for row in fastavro.reader(BytesIO(file))]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return micros(value) if isinstance(value, datetime) else value


@pytest.mark.parametrize("table", [table.name for table in TABLES])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), offsets=st.lists(OFFSETS, min_size=1, max_size=4), partition=st.integers(0, 1023))
def test_a_file_holds_the_rows_with_their_partition_and_offset(
    table: str, seed: int, offsets: list[int], partition: int
) -> None:
    """Any rows of any table, at any offsets: read back equal, extended by where they came from."""
    chance = Random(seed)  # noqa: S311 - not for secrets
    rows = [random_row(table, chance) for _ in offsets]
    messages = [FakeMessage(encoded(table, row), offset) for row, offset in zip(rows, offsets, strict=True)]

    block = build(messages, partition, RowSchemas(table), {})

    assert len(block.rows) == 1
    assert read(block.rows[0]) == [
        row | {"_partition": partition, "_offset": offset} for row, offset in zip(rows, offsets, strict=True)
    ]
    expected = [column.name for column in BY_NAME[table].columns] + ["_partition", "_offset"]
    assert list(block.rows[0].schema.columns) == expected


@given(number=st.integers(0, 2**63 - 1), partition=st.integers(0, 2**31))
def test_the_short_way_for_offsets_is_the_long_way(number: int, partition: int) -> None:
    """Table look-up and loop give the same bytes."""
    offsets = OffsetVarints(partition)
    for _ in range(2):
        assert offsets.suffix(number) == varint(partition) + varint(number)


def test_two_framings_in_one_range_become_two_files() -> None:
    """While producers move to a registry, both kinds of message share a partition."""
    registry = ConfluentRegistry("mock://sinks")
    framed = Codec(registry=registry)
    messages = [
        FakeMessage(encoded("agent_steps", sample_row("agent_steps", n)), n, source(n))
        if n % 2
        else FakeMessage(framed.encode("rows.agent_steps", sample_row("agent_steps", n)), n, source(n))
        for n in range(6)
    ]

    block = build(messages, 3, RowSchemas("agent_steps", registry=registry), {})

    found = sorted((row["_offset"], row["seq"]) for rows in block.rows for row in read(rows))
    assert [len(rows) for rows in block.rows] == [3, 3]
    assert found == [(n, n + 1) for n in range(6)]
    assert len({rows.schema.tag for rows in block.rows}) == 2


def test_a_part_of_the_rows_is_a_file_too() -> None:
    """Bisection sends slices."""
    messages = [FakeMessage(encoded("checkpoints", sample_row("checkpoints", n)), n) for n in range(5)]
    rows = build(messages, 0, RowSchemas("checkpoints"), {}).rows[0]
    assert [row["_offset"] for row in read(rows, 1, 3)] == [1, 2]


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        pytest.param(b"hello", UnknownFramingError, id="bytes that are not framed"),
        pytest.param(b"\xc3\x01" + bytes(8) + b"row", UnknownSchemaError, id="a fingerprint nobody published"),
        pytest.param(confluent_prefix(7) + b"row", UnknownSchemaError, id="a registry's id without a registry"),
        pytest.param(encoded("checkpoints", sample_row("checkpoints", 1)), WrongTypeError, id="a row of another table"),
    ],
)
def test_what_is_no_row_of_the_table_is_set_aside(raw: bytes, error: type[Exception]) -> None:
    """The rest of the range is built as if it were not there."""
    good = encoded("agent_steps", sample_row("agent_steps", 1))
    block = build([FakeMessage(good, 1), FakeMessage(raw, 2), FakeMessage(good, 3)], 0, RowSchemas("agent_steps"), {})
    assert [row["_offset"] for row in read(block.rows[0])] == [1, 3]
    assert [(item.message.offset(), type(item.error)) for item in block.unreadable] == [(2, error)]


def test_the_same_range_gives_the_same_bytes() -> None:
    """A repeated insert must be the insert it repeats."""
    messages = [FakeMessage(encoded("tool_calls", sample_row("tool_calls", n)), n, source(n)) for n in range(9)]
    marks = {"events/0": (3, 0)}
    first, second = (build(messages, 1, RowSchemas("tool_calls"), marks) for _ in range(2))
    assert first.rows[0].file(0, 5) == second.rows[0].file(0, 5)
    assert (first.repeats, first.marks) == (4, {"events/0": (8, 0)})
