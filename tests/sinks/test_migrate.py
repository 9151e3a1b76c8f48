"""Numbered migrations: in order, remembered, never changed."""

import re
from collections.abc import Iterator
from typing import Any

import clickhouse_connect
import pytest
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError
from pydantic import SecretStr

from tachograph.schemas.privacy import blocked_name
from tachograph.schemas.settings import Settings
from tachograph.schemas.tables import BY_NAME, SINK_COLUMNS, TABLES
from tachograph.sinks.clickhouse.client import connect
from tachograph.sinks.clickhouse.migrate import apply, migrate, pending, plan
from tachograph.sinks.clickhouse.shipped import Migration, ordered, shipped_migrations
from tachograph.sinks.errors import (
    ClickHouseUnreachableError,
    MigrationChangedError,
    MigrationFailedError,
    MigrationFilesError,
    MigrationUnknownError,
    MissingGrantError,
    WrongPasswordError,
)

ONE, TWO, THREE = (Migration(number, f"m{number}", f"SELECT {number}") for number in (1, 2, 3))
OWN_COLUMNS = {
    "_ingested_at",
    "_kept",
    "approval_modes",
    "approvers",
    "code_characters",
    "content_bytes",
    "created_at",
    "has_blocked_key",
    "metadata_keys",
    "policy_decision_ids",
    "recorded_at",
    "selected_characters",
}
"""What tables have beside the contract's columns: what ClickHouse computes."""

SQL = "\n".join(migration.sql for migration in shipped_migrations())


def applied(*migrations: Migration) -> dict[int, str]:
    return {migration.version: migration.checksum for migration in migrations}


def test_what_is_left_is_applied_in_order() -> None:
    """Whatever the order of the files."""
    assert pending(ordered([THREE, ONE, TWO]), applied(ONE)) == [TWO, THREE]
    assert pending(ordered([ONE, TWO]), applied(ONE, TWO)) == []


@pytest.mark.parametrize(
    ("migrations", "says"),
    [
        pytest.param([ONE, THREE], "0002 is missing", id="a number is missing"),
        pytest.param([ONE, TWO, Migration(2, "other", "")], "two migrations have the number 0002", id="a number twice"),
    ],
)
def test_numbers_have_no_gaps_and_no_repeats(migrations: list[Migration], says: str) -> None:
    """Before anything is asked of the database."""
    with pytest.raises(MigrationFilesError, match=says):
        ordered(migrations)


@pytest.mark.parametrize(
    ("known", "done", "error", "says"),
    [
        pytest.param([ONE, TWO], {1: "other"}, MigrationChangedError, "new migration", id="a file was changed"),
        pytest.param([ONE], applied(ONE, TWO), MigrationUnknownError, "Upgrade", id="the database is ahead"),
        pytest.param([ONE, TWO], applied(TWO), MigrationUnknownError, "backup", id="the ledger lost a row"),
    ],
)
def test_a_contradiction_stops_everything(
    known: list[Migration], done: dict[int, str], error: type[Exception], says: str
) -> None:
    """With a sentence that says what to do."""
    with pytest.raises(error, match=says):
        pending(known, done)


@pytest.fixture
def client(migrated: Settings) -> Iterator[Client]:
    settings = migrated.clickhouse
    with connect(settings, settings.migrate_user, settings.migrate_password) as found:
        yield found


@pytest.mark.stack
@pytest.mark.parametrize("table", [table.name for table in TABLES])
def test_a_table_has_the_columns_of_the_contract(client: Client, table: str) -> None:
    """Names, order, types and comments, as the server describes them."""
    rows = client.query(f"DESCRIBE TABLE tachograph.{table}").result_rows
    contract = next(found for found in TABLES if found.name == table)
    expected = [(column.name, column.kind.clickhouse, column.comment) for column in (*contract.columns, *SINK_COLUMNS)]
    assert [(row[0], _one_line(row[1]), row[4]) for row in rows][: len(expected)] == [
        (name, kind, comment) for name, kind, comment in expected
    ]
    own = {row[0]: row[2] for row in rows[len(expected) :]}
    assert set(own) <= OWN_COLUMNS


def _one_line(kind: str) -> str:
    return " ".join(kind.split()).replace("( ", "(").replace(" )", ")")


@pytest.mark.stack
def test_every_column_of_every_table_says_what_it_is(client: Client) -> None:
    """Rollups, prices and the ledger too."""
    rows = client.query(
        "SELECT table, name, comment FROM system.columns WHERE database = 'tachograph' AND table IN "
        "(SELECT name FROM system.tables WHERE database = 'tachograph' AND engine LIKE '%MergeTree' "
        "AND NOT match(name, '^(history|roles|half|aged|upgrade)_'))"  # scratch tables of other tests
    ).result_rows
    assert {table for table, _, _ in rows} >= {*BY_NAME, "model_minutes", "tool_hours", "model_prices", "kept_runs"}
    assert [(table, name) for table, name, comment in rows if not comment.endswith(".")] == []


@pytest.mark.stack
def test_the_guard_folds_keys_as_the_contract_does(client: Client) -> None:
    """Case, white space of all alphabets, characters of no width."""
    keys = [
        "PROMPT",
        " prompt ",
        "pro\u200bmpt",
        "chain of thought",
        "Chain\u2003Of_Thought",
        "rea\u017foning",
        "meßage",
        "ok",
    ]
    keys += ["\x0btext\x85", "\u3000THOUGHT\ufeff", "prompts", "in put", "ﬁle", "output\x1f"]
    fold = re.search(r"arrayMap\((name -> replaceRegexpAll\(.*?\)), mapKeys", SQL, re.DOTALL)
    assert fold is not None
    found: Any = client.query(f"SELECT arrayMap({fold[1]}, {{keys:Array(String)}})", parameters={"keys": keys})
    listed = re.search(r"hasAny\(\s*metadata_keys,\s*\[(.*?)\]", SQL, re.DOTALL)
    assert listed is not None
    blocked = set(re.findall(r"'(\w+)'", listed[1]))
    assert [key in blocked for key in found.result_rows[0][0]] == [blocked_name(key) is not None for key in keys]


@pytest.mark.stack
def test_a_dry_run_changes_nothing_and_a_crash_in_the_middle_is_mended(client: Client) -> None:
    """The second statement fails; the file is mended before it was ever remembered; running again finishes it."""
    shipped = shipped_migrations()
    number = len(shipped) + 1
    made = "CREATE TABLE IF NOT EXISTS {database}.half_made (a Int8) ENGINE = MergeTree ORDER BY a;"
    broken = Migration(number, "half", f"{made} CREATE NONSENSE;")
    mended = Migration(number, "half", f"{made} SELECT 1;")
    try:
        assert plan(client, migrations=[*shipped, broken]) == [broken]
        assert client.command("EXISTS TABLE tachograph.half_made") == 0
        with pytest.raises(MigrationFailedError, match=f"statement 2 of migration {number:04}_half"):
            apply(client, migrations=[*shipped, broken])
        assert client.command("EXISTS TABLE tachograph.half_made") == 1
        assert apply(client, migrations=[*shipped, mended]) == [mended]
        assert apply(client, migrations=[*shipped, mended]) == []
        with pytest.raises(MigrationChangedError):
            apply(client, migrations=[*shipped, broken])
        with pytest.raises(MigrationUnknownError):
            plan(client)
    finally:
        client.command("DROP TABLE IF EXISTS tachograph.half_made")
        client.command(
            f"ALTER TABLE tachograph.schema_migrations DELETE WHERE version = {number}", settings={"mutations_sync": 2}
        )
    assert plan(client) == []


@pytest.mark.stack
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        pytest.param({"migrate_password": SecretStr("wrong")}, WrongPasswordError, id="wrong password"),
        pytest.param({"http_port": 1}, ClickHouseUnreachableError, id="nothing listens there"),
        pytest.param({"database": "not_ours"}, MissingGrantError, id="a database the account has no grant on"),
    ],
)
def test_a_clickhouse_that_does_not_let_us_is_a_typed_error(
    migrated: Settings, changes: dict[str, Any], error: type[Exception]
) -> None:
    """Each says what to do."""
    clickhouse = migrated.clickhouse.model_copy(update=changes)
    with pytest.raises(error):
        migrate(migrated.model_copy(update={"clickhouse": clickhouse}))


@pytest.mark.stack
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count() FROM tachograph.agent_runs",
        "ALTER TABLE tachograph.agent_runs DELETE WHERE 1",
        "ALTER TABLE tachograph.agent_runs UPDATE status = 'x' WHERE 1",
        "DELETE FROM tachograph.agent_runs WHERE 1",
        "TRUNCATE TABLE tachograph.agent_runs",
        "DROP TABLE tachograph.agent_runs",
    ],
)
def test_the_sink_may_only_insert(migrated: Settings, statement: str) -> None:
    """What is recorded cannot be read, changed or removed by what records it."""
    _refused(migrated, "sink", statement)


@pytest.mark.stack
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO tachograph.agent_runs (run_id) VALUES ('x')",
        "ALTER TABLE tachograph.agent_runs DELETE WHERE 1",
        "TRUNCATE TABLE tachograph.agent_runs",
        "DROP TABLE tachograph.agent_runs",
    ],
)
def test_the_console_may_only_read(migrated: Settings, statement: str) -> None:
    """Readers change nothing."""
    _refused(migrated, "console", statement)


def _refused(servers: Settings, role: str, statement: str) -> None:
    settings = servers.clickhouse
    password: SecretStr = getattr(settings, f"{role}_password")
    with (
        clickhouse_connect.get_client(
            host=settings.host,
            port=settings.http_port,
            username=getattr(settings, f"{role}_user"),
            password=password.get_secret_value(),
        ) as client,
        pytest.raises(DatabaseError) as raised,
    ):
        client.command(statement)
    assert raised.value.code in {164, 497}
