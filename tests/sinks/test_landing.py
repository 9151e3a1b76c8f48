"""Rows of every table land with their values; what ClickHouse refuses becomes a dead letter; the rest lands."""

from typing import Any

import pytest

from tachograph.schemas.headers import Header
from tachograph.schemas.tables import TABLES
from tachograph.schemas.wire.convert import moment
from tests.sinks.conftest import Place
from tests.sinks.rows import NOW_US, encoded, sample_row
from tests.sinks.running import eventually, running_sink

pytestmark = pytest.mark.stack

SECRET = "hunter2-is-my-password"


def test_rows_of_every_table_land_with_their_values(whole_place: Place) -> None:
    """Every column of every table, read back from ClickHouse, equals what the worker wrote."""
    place = whole_place
    tables = [table for table in TABLES if table.name != "dead_letters"]
    for table in tables:
        place.send(table.name, range(2))
    with running_sink(place.settings, place.topics):
        for table in tables:
            eventually(lambda name=table.name: place.count(name) == 2, f"rows of {table.name}")  # type: ignore[misc]
    for table in tables:
        found = place.query(
            f"SELECT {', '.join(column.name for column in table.columns)}, _partition, _offset"  # noqa: S608 - our names
            f" FROM tachograph.{table.name} WHERE tenant_id = {{tenant:String}} ORDER BY _partition"
        )
        for number in range(2):
            row = sample_row(table.name, number, tenant_id=place.tenant)
            expected = [_as_read(row[column.name], column.kind.clickhouse) for column in table.columns]
            assert list(found[number]) == [*expected, number, 0], table.name


def _as_read(value: Any, kind: str) -> Any:
    """A value as the driver gives it: times as datetimes without zone, small records as dicts."""
    if "DateTime64" in kind and not kind.startswith("Array"):
        return moment(value).replace(tzinfo=None)
    if kind.startswith("Array(Tuple("):
        times = "decided_at"
        return [
            {key: moment(item).replace(tzinfo=None) if key == times else item for key, item in record.items()}
            for record in value
        ]
    return value


@pytest.mark.parametrize(
    ("table", "poison", "says"),
    [
        pytest.param(
            "agent_decisions",
            {"metadata": {"ok": "1", " Pro\u200bmpt ": SECRET}},
            "code 469",
            id="a blocked metadata key",
        ),
        pytest.param("agent_runs", {"user_request_raw": SECRET + "x" * 65536}, "code 469", id="content over 64 KB"),
    ],
)
def test_a_refused_row_becomes_a_dead_letter_and_its_batch_lands(
    place: Place, table: str, poison: dict[str, Any], says: str
) -> None:
    """Original bytes, Kafka Connect's headers, a row in dead_letters; nowhere what was in the row."""
    bad = encoded(table, sample_row(table, 6, tenant_id=place.tenant, **poison))
    place.send(table, range(6))
    place.send_raw(table, 6, bad)
    place.send(table, range(7, 12))
    with running_sink(place.settings, place.topics):
        eventually(lambda: place.count(table) == 11, "the rest of the batch")
        eventually(lambda: place.count("dead_letters") == 1, "the dead letter's row")
    assert place.numbers(table) == [n for n in range(12) if n != 6]
    (letter,) = place.dead_letters(1)
    headers = dict(letter.headers() or [])
    assert letter.value() == bad
    assert headers[Header.ERROR_STAGE] == b"INSERT"
    assert (headers[Header.ERROR_TOPIC], headers[Header.ERROR_OFFSET]) == (place.topic(table).encode(), b"3")
    (row,) = place.query("SELECT * FROM tachograph.dead_letters WHERE tenant_id = {tenant:String}")
    assert says in str(headers[Header.ERROR_MESSAGE])
    assert SECRET not in str(headers)
    assert SECRET not in str(row)


def test_bytes_that_are_no_row_become_dead_letters(place: Place) -> None:
    """Unframed, of an unknown schema, empty, cut short: each by itself, and the rows around them land."""
    good = [encoded("agent_steps", sample_row("agent_steps", n, tenant_id=place.tenant)) for n in range(12)]
    cut, unknown = good[4][:-9], b"\xc3\x01" + bytes(8) + b"?"
    for number, value in enumerate([good[0], b"junk", good[2], unknown, cut, b"", *good[6:]]):
        place.send_raw("agent_steps", number, value)
    place.producer.flush()
    with running_sink(place.settings, place.topics):
        eventually(lambda: place.count("agent_steps") == 8, "the rows")
        eventually(lambda: place.count("dead_letters") == 4, "the dead letters' rows")
    stages = place.query(
        "SELECT stage, error_type FROM tachograph.dead_letters WHERE tenant_id = {tenant:String} ORDER BY 1, 2"
    )
    assert stages == [
        ("DECODE", "EmptyMessageError"),
        ("DECODE", "UnknownFramingError"),
        ("DECODE", "UnknownSchemaError"),
        ("INSERT", "RowsRefusedError"),
    ]
    assert place.numbers("agent_steps") == [0, 2, 6, 7, 8, 9, 10, 11]


def test_a_wild_clock_harms_nobody(place: Place) -> None:
    """Times of other centuries land with their batch, in one part: partitions follow the broker's clock."""
    wild = [0, -(2**62), 2**62, NOW_US * 2, -NOW_US]
    for number, occurred_at in enumerate(wild):
        row = sample_row("agent_steps", number, tenant_id=place.tenant, occurred_at=occurred_at)
        place.send_raw("agent_steps", number, encoded("agent_steps", row))
    place.producer.flush()
    with running_sink(place.settings, place.topics):
        eventually(lambda: place.count("agent_steps") == len(wild), "the rows")
    assert place.query("SELECT uniq(_partition_id) FROM tachograph.agent_steps WHERE tenant_id = {tenant:String}") == [
        (1,)
    ]
    assert place.query(
        "SELECT count(), uniqExact(Timestamp) FROM tachograph.otel_traces "
        "WHERE ResourceAttributes['tachograph.tenant_id'] = {tenant:String}"
    )[0][0] == len(wild)


def test_runs_and_steps_have_one_row_each(place: Place) -> None:
    """The latest known value wins; a value that a later row does not know stays."""
    started = sample_row("agent_runs", 0, tenant_id=place.tenant, run_id="r", status="running", ended_at=None)
    ended = sample_row(
        "agent_runs", 2, tenant_id=place.tenant, run_id="r", status="succeeded", user_request_raw="", repo=None
    )
    for number, row in ((0, started), (2, ended)):
        place.send_raw("agent_runs", number, encoded("agent_runs", row))
    place.send("agent_steps", range(0, 4, 2), run_id="r", step_id="s")
    with running_sink(place.settings, place.topics):
        eventually(lambda: place.count("agent_runs") == 2 and place.count("agent_steps") == 2, "the rows")
    assert place.query(
        "SELECT run_id, status, user_request_raw, repo, ended_at IS NULL"
        " FROM tachograph.runs WHERE tenant_id = {tenant:String}"
    ) == [("r", "succeeded", started["user_request_raw"], started["repo"], 0)]
    assert place.query("SELECT run_id, step_id, name FROM tachograph.steps WHERE tenant_id = {tenant:String}") == [
        ("r", "s", "agent_steps-2.name")
    ]
