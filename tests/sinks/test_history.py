"""History cannot be changed: every way of doing it is refused to the writer and to the console."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tachograph.schemas.settings import Settings
from tachograph.schemas.tables import TABLES
from tests.deploy.test_roles import ACCESS_DENIED, READONLY, Refused, login

pytestmark = pytest.mark.stack

Ask = Callable[[str], str]

WAYS = [
    pytest.param("ALTER TABLE {table} UPDATE message = 'other' WHERE 1", id="change rows"),
    pytest.param("UPDATE {table} SET message = 'other' WHERE 1", id="change rows, lightly"),
    pytest.param("ALTER TABLE {table} DELETE WHERE 1", id="delete rows"),
    pytest.param("DELETE FROM {table} WHERE 1", id="delete rows, lightly"),
    pytest.param("TRUNCATE TABLE {table}", id="empty the table"),
    pytest.param("DROP TABLE {table}", id="drop the table"),
    pytest.param("DROP DATABASE tachograph", id="drop the database"),
    pytest.param("DETACH TABLE {table} PERMANENTLY", id="take the table away"),
    pytest.param("RENAME TABLE {table} TO {table}_old", id="put it aside"),
    pytest.param("EXCHANGE TABLES {table} AND {other}", id="put another in its place"),
    pytest.param("CREATE OR REPLACE TABLE {table} (x UInt8) ENGINE = MergeTree ORDER BY x", id="create it anew"),
    pytest.param("ALTER TABLE {table} DROP PARTITION tuple()", id="drop a partition"),
    pytest.param("ALTER TABLE {table} REPLACE PARTITION tuple() FROM {other}", id="replace a partition"),
    pytest.param("ALTER TABLE {table} DETACH PARTITION tuple()", id="take a partition away"),
    pytest.param("ALTER TABLE {table} CLEAR COLUMN message IN PARTITION tuple()", id="clear a column"),
    pytest.param("ALTER TABLE {table} DROP COLUMN message", id="drop a column"),
    pytest.param("ALTER TABLE {table} MODIFY TTL toDateTime(_ingested_at) + INTERVAL 1 SECOND", id="let it expire"),
    pytest.param("ALTER TABLE {table} DROP CONSTRAINT content_is_at_most_64_kb", id="take a guard away"),
    pytest.param("ALTER TABLE {table} MODIFY SETTING non_replicated_deduplication_window = 0", id="allow repeats"),
    pytest.param("OPTIMIZE TABLE {table} FINAL DEDUPLICATE BY tenant_id", id="merge rows that differ"),
]


@pytest.fixture(scope="module")
def tables(stack: Settings) -> Iterator[tuple[str, str]]:
    """Copies of a table with its guards, and the accounts' real grants over them."""
    house = stack.clickhouse
    migrate = login(stack, house.migrate_user, house.migrate_password.get_secret_value())
    sink = login(stack, house.sink_user, house.sink_password.get_secret_value())
    name = f"tachograph.history_{uuid4().hex}"
    for table in (name, f"{name}_other"):
        migrate(f"CREATE TABLE {table} AS tachograph.violations")
    sink(
        f"INSERT INTO {name} (tenant_id, violation_id, message, occurred_at, _partition, _offset) "  # noqa: S608 - a name made here
        "VALUES ('acme', 'v', 'as it was', now64(6), 0, 0)"
    )
    yield name, f"{name}_other"
    for table in (name, f"{name}_other"):
        migrate(f"DROP TABLE {table}")


@pytest.fixture(scope="module")
def accounts(stack: Settings) -> dict[str, Ask]:
    house = stack.clickhouse
    return {
        "writer": login(stack, house.sink_user, house.sink_password.get_secret_value()),
        "console": login(stack, house.console_user, house.console_password.get_secret_value()),
    }


@pytest.mark.parametrize("who", ["writer", "console"])
@pytest.mark.parametrize("statement", WAYS)
def test_history_is_refused_to_change(
    accounts: dict[str, Ask], tables: tuple[str, str], who: str, statement: str
) -> None:
    """By ClickHouse itself, for want of the grant; and what was written is still what it was."""
    table, other = tables
    with pytest.raises(Refused) as refused:
        accounts[who](statement.format(table=table, other=other))
    assert refused.value.code in {ACCESS_DENIED, READONLY}, str(refused.value)[:200]
    assert accounts["console"](f"SELECT violation_id, message FROM {table}") == "v\tas it was"  # noqa: S608 - as above


def test_there_are_at_least_sixteen_ways() -> None:
    """Each is its own statement."""
    assert len({str(way.values[0]) for way in WAYS}) >= 16


def test_a_thief_of_the_writer_s_password_can_replace_a_row(stack: Settings) -> None:
    """What grants cannot prevent, as the threat model says it: the last row of a sort key wins at a merge.

    If this fails, the server or the tables have become better than the page: say so there.
    """
    house = stack.clickhouse
    migrate = login(stack, house.migrate_user, house.migrate_password.get_secret_value())
    thief = login(stack, house.sink_user, house.sink_password.get_secret_value())
    page = (Path(__file__).parents[2] / "docs" / "threat-model.md").read_text()
    by_ids = set()
    for table in (*(table.name for table in TABLES), "kept_runs", "content_views"):
        created = migrate(f"SHOW CREATE TABLE tachograph.{table} FORMAT TSVRaw")
        (key,) = re.findall(r"^ORDER BY \((.*)\)$", created, re.MULTILINE)
        if not key.endswith("_partition, _offset"):
            by_ids.add(table)
    (sentence,) = re.findall(r"In (`violations`.*?) the key is made of\s+ids alone", page)
    assert set(re.findall(r"`(\w+)`", sentence)) == by_ids
    name = f"tachograph.stolen_{uuid4().hex}"
    migrate(f"CREATE TABLE {name} AS tachograph.agent_failures")
    try:
        for message in ("as it was", "as a thief wants it"):
            thief(
                f"INSERT INTO {name} (tenant_id, failure_id, message, occurred_at, received_at, _partition, _offset) "  # noqa: S608 - a name made here
                f"VALUES ('acme', 'f', '{message}', 1, 1, 0, 0)"
            )
        migrate(f"OPTIMIZE TABLE {name} FINAL")
        assert migrate(f"SELECT message FROM {name}") == "as a thief wants it"  # noqa: S608 - as above
    finally:
        migrate(f"DROP TABLE {name}")
