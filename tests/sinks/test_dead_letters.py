"""What a dead letter says, and the row it becomes."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from tachograph.schemas.headers import Header, SourceCoordinates
from tachograph.sinks.clickhouse.dead_letters import dead_letter_row, error_headers
from tachograph.sinks.errors import RowsRefusedError
from tests.sinks.messages import FakeMessage, source
from tests.sinks.rows import CODEC

ERROR = RowsRefusedError("ClickHouse refused the row: a guard of the table forbids it (code 469)", code=469)


def test_a_dead_letter_names_where_it_was_and_why_it_is_here() -> None:
    """Kafka Connect's names; the coordinates are its place in the row topic; foreign headers stay."""
    original = FakeMessage(
        b"row", 77, [*source(5), (Header.CE_SOURCE.value, b"/tenants/acme/agents/coder")], ("tachograph.rows.x.v1", 3)
    )
    headers = error_headers(original, "INSERT", ERROR)
    assert dict(headers) == {
        "ce_source": b"/tenants/acme/agents/coder",
        "tg-source": SourceCoordinates(77, 0, "tachograph.rows.x.v1/3").to_bytes(),
        "__connect.errors.topic": b"tachograph.rows.x.v1",
        "__connect.errors.partition": b"3",
        "__connect.errors.offset": b"77",
        "__connect.errors.stage": b"INSERT",
        "__connect.errors.class.name": b"tachograph.sinks.clickhouse",
        "__connect.errors.exception.class.name": b"RowsRefusedError",
        "__connect.errors.exception.message": str(ERROR).encode(),
        "tg-errors.timestamp": b"1780000000000",
    }
    assert len(headers) == len(dict(headers))

    assert dead_letter_row(FakeMessage(b"row", 0, headers, ("tachograph.dlq.v1", 3))) == {
        "tenant_id": "acme",
        "dead_letter_id": hashlib.sha256(b"tachograph.rows.x.v1/3/77").hexdigest(),
        "source_topic": "tachograph.rows.x.v1",
        "source_partition": 3,
        "source_offset": 77,
        "stage": "INSERT",
        "component": "tachograph.sinks.clickhouse",
        "error_type": "RowsRefusedError",
        "error": str(ERROR),
        "size_bytes": 3,
        "value_sha256": hashlib.sha256(b"row").hexdigest(),
        "occurred_at": 1_780_000_000_000_000,
    }


def test_a_dead_letter_without_headers_names_itself() -> None:
    """Anybody may write to the topic; everything in it becomes a row."""
    row = dead_letter_row(FakeMessage(None, 9, [], ("tachograph.dlq.v1", 1)))
    assert (row["source_topic"], row["source_partition"], row["source_offset"]) == ("tachograph.dlq.v1", 1, 9)
    assert (row["stage"], row["tenant_id"], row["size_bytes"]) == ("UNKNOWN", "", 0)


@given(st.lists(st.tuples(st.sampled_from([header.value for header in Header]), st.binary(max_size=40))), st.binary())
def test_any_headers_make_a_row_that_fits_its_schema(headers: list[tuple[str, bytes]], value: bytes) -> None:
    """Broken text, negative or absurd numbers: nothing here may stop the sink."""
    row = dead_letter_row(FakeMessage(value, 1, headers))
    assert CODEC.decode(CODEC.encode("rows.dead_letters", row)).record == row
    assert all(row[name] >= 0 for name in ("source_partition", "source_offset", "occurred_at"))
