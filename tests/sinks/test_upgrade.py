"""An upgrade meets tables that have rows: every later migration applies, and merges go on."""

import io
from collections.abc import Iterator
from uuid import uuid4

import clickhouse_connect
import fastavro
import pytest
from clickhouse_connect.driver.client import Client

from tachograph.schemas.settings import Settings
from tachograph.schemas.tables import TABLES
from tachograph.schemas.wire import load_catalogue
from tachograph.sinks.clickhouse.shipped import shipped_migrations
from tachograph.sinks.clickhouse.statements import statements
from tests.sinks.rows import sample_row

pytestmark = pytest.mark.stack


@pytest.fixture
def client(stack: Settings) -> Iterator[Client]:
    house = stack.clickhouse
    with clickhouse_connect.get_client(
        host=house.host,
        port=house.http_port,
        username=house.migrate_user,
        password=house.migrate_password.get_secret_value(),
    ) as found:
        yield found


def test_rows_that_are_older_than_a_column_can_still_be_merged(client: Client) -> None:
    """ClickHouse computes such columns when it merges; an expression that it cannot compute then stops all merges."""
    prefix = f"upgrade_{uuid4().hex[:8]}_"
    made = [table.name for table in TABLES]

    def renamed(statement: str) -> str | None:
        """The statement for tables of our own, beside the real ones; views and what they feed are left out."""
        name = statement.split("`tachograph`.", 1)[-1].split(None, 1)[0]
        is_ours = statement.startswith(("CREATE TABLE", "ALTER TABLE")) and name in made
        return statement.replace(f"`tachograph`.{name}", f"`tachograph`.{prefix}{name}", 1) if is_ours else None

    filled: set[str] = set()
    try:
        for migration in shipped_migrations():
            for statement in statements(migration.sql, database="tachograph"):
                if (ours := renamed(statement)) is not None:
                    client.command(ours)
            for table in made:  # as soon as a table has the contract's columns, it gets rows, before what comes later
                if table not in filled and _takes_rows(client, f"{prefix}{table}", table):
                    filled.add(table)
        assert filled == set(made)
        for table in made:
            client.command(f"OPTIMIZE TABLE tachograph.{prefix}{table} FINAL", settings={"mutations_sync": 2})
            count = client.query(f"SELECT count(), max(content_bytes) > 0 FROM tachograph.{prefix}{table}").result_rows  # noqa: S608 - names made here
            assert count == [(3, 1)], table
    finally:
        for table in made:
            client.command(f"DROP TABLE IF EXISTS tachograph.{prefix}{table}")


def _takes_rows(client: Client, name: str, table: str) -> bool:
    schema = load_catalogue().latest(f"rows.{table}").plain
    wanted = {field["name"] for field in schema["fields"]}
    rows = client.query(
        "SELECT name FROM system.columns WHERE database = 'tachograph' AND table = {name:String}",
        parameters={"name": name},
    ).result_rows
    if not wanted <= {row[0] for row in rows}:
        return False
    file = io.BytesIO()
    fastavro.writer(file, fastavro.parse_schema(schema), [sample_row(table, number) for number in range(3)])
    client.raw_insert(
        f"tachograph.{name}",
        column_names=sorted(wanted),
        insert_block=file.getvalue(),
        fmt="Avro",
        settings={"async_insert": 0},
    )
    return True
