"""The replicated tables as they are, made on two real servers that agree by a real ZooKeeper.

The engine in the tests' servers can make such tables and cannot fill them: see docs/scaling.md. So this shows that two
replicas of a shard become one table of each, and that no two tables claim one path; not that rows travel.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from clickhouse_connect.driver.client import Client
from pydantic import SecretStr

from tachograph.deploy.accounts import hashed, users_xml
from tachograph.deploy.clickhouse import ClickHouseServer
from tachograph.deploy.ports import choose_ports
from tachograph.deploy.state import StateFolder
from tachograph.schemas.settings import ClickHouseSettings, LocalSettings
from tachograph.sinks.clickhouse.client import connect
from tachograph.sinks.clickhouse.cluster import EVERYWHERE, clustered
from tachograph.sinks.clickhouse.insert import ClickHouseInserts
from tachograph.sinks.clickhouse.shipped import LEDGER_SQL, shipped_migrations
from tachograph.sinks.errors import ClickHouseBusyError, TransientError
from tests.sinks.rows import avro_file, sample_row
from tests.sinks.running import eventually
from tests.sinks.zookeeper import zookeeper

pytestmark = [
    pytest.mark.stack,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="needs the local ClickHouse server"),
]

STORED = {
    found[1]: statement.replace(" ON CLUSTER `tachograph`", "")
    for sql in (LEDGER_SQL, *(migration.sql for migration in shipped_migrations()))
    for statement in clustered(sql, database="tachograph", cluster="tachograph")
    if (found := re.match(r"CREATE TABLE IF NOT EXISTS `tachograph`\.(\w+) ON CLUSTER", statement))
}
"""Tables that hold rows, by name."""


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ClickHouseSettings]]:
    """Two servers with the tables: one is a shard's first replica, the other its second."""
    folder = tmp_path_factory.mktemp("replicas")
    coordinator = choose_ports(LocalSettings()).clickhouse_tcp_port
    with ExitStack() as stack:
        stack.enter_context(zookeeper(folder / "zookeeper", coordinator))
        servers = [_start(stack, folder / f"replica-{number}", number, coordinator) for number in range(2)]
        for server, _ in servers:
            eventually(server.ready, "a replica")
        found = [house for _, house in servers]
        for house in found:
            with closing(connect(house, house.migrate_user, house.migrate_password)) as client:
                client.command("CREATE DATABASE IF NOT EXISTS tachograph")
                for statement in STORED.values():
                    client.command(statement)
        yield found


@pytest.fixture
def replicas(houses: list[ClickHouseSettings]) -> Iterator[list[Client]]:
    """The migrations' account on both."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(closing(connect(house, house.migrate_user, house.migrate_password))) for house in houses
        ]


def _start(stack: ExitStack, home: Path, number: int, coordinator: int) -> tuple[ClickHouseServer, ClickHouseSettings]:
    state, ports = StateFolder(home), choose_ports(LocalSettings())
    state.clickhouse.mkdir(parents=True)
    server = ClickHouseServer(state, ports)
    server.prepare()
    config, passwords = state.clickhouse / "config.xml", server.passwords()
    more = (
        f"<macros><shard>01</shard><replica>replica-{number}</replica></macros>"
        f"<zookeeper><node><host>127.0.0.1</host><port>{coordinator}</port></node></zookeeper>"
    )
    config.write_text(config.read_text().replace("</clickhouse>", f"{more}</clickhouse>"))
    seen = "<query>GRANT SELECT ON system.replicas</query>"  # so that the test may look
    users = users_xml(hashed(passwords), cluster=True)
    users = users.replace("<query>GRANT CLUSTER ON *.*</query>", f"<query>GRANT CLUSTER ON *.*</query>{seen}")
    (state.clickhouse / "users.xml").write_text(users)
    log = stack.enter_context((state.clickhouse / "server.log").open("wb"))
    process = subprocess.Popen(server.child().argv, stdout=log, stderr=log)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return server, ClickHouseSettings(
        http_port=ports.clickhouse_http_port,
        migrate_password=SecretStr(passwords["migrate"]),
        sink_password=SecretStr(passwords["sink"]),
    )


def _seen(client: Client) -> dict[str, tuple[Any, ...]]:
    rows = client.query(
        "SELECT table, zookeeper_path, replica_name, total_replicas FROM system.replicas WHERE database = 'tachograph'"
    ).result_rows
    return {str(row[0]): tuple(row[1:]) for row in rows}


def test_both_replicas_have_every_table_under_one_path(replicas: list[Client]) -> None:
    """The path names the shard, or none for what is everywhere; the second server is the second replica of each."""
    assert len(STORED) > 20
    for number, client in enumerate(replicas):
        assert _seen(client) == {
            name: (
                f"/clickhouse/tables/{'all' if name in EVERYWHERE else '01'}/tachograph/{name}",
                f"{'01-' if name in EVERYWHERE else ''}replica-{number}",
                2,
            )
            for name in STORED
        }


def test_the_engines_are_replicated_ones_with_our_window(replicas: list[Client]) -> None:
    """As ClickHouse wrote the definitions down."""
    for name in STORED:
        made = str(replicas[0].command(f"SHOW CREATE TABLE tachograph.{name}"))
        assert re.search(r"ENGINE = Replicated(Replacing|Aggregating|Summing)?MergeTree", made), name
        if name not in EVERYWHERE:
            assert "replicated_deduplication_window = 10000" in made, name
            assert "replicated_deduplication_window_seconds = 604800" in made, name


def test_a_replica_of_another_shape_is_refused(replicas: list[Client]) -> None:
    """The second server's definition is compared with the first one's, so these tests can fail."""
    statement = STORED["agent_steps_local"].replace("`tachograph`.agent_steps_local", "tachograph.odd", 1)
    odd = statement.replace("'{replica}'", "'odd'").replace("step_id String", "step_id Int64", 1)
    assert odd.count("Int64") > statement.count("Int64")
    with pytest.raises(Exception, match=r"INCOMPATIBLE_COLUMNS"):
        replicas[1].command(odd)


def test_a_replica_that_is_read_only_is_waited_for(houses: list[ClickHouseSettings]) -> None:
    """These are, for want of an address. The sink's insert is told so in an error that means: again, later."""
    row = sample_row("agent_steps", 1)
    with closing(ClickHouseInserts(houses[0])) as inserts, pytest.raises(ClickHouseBusyError) as refused:
        inserts.insert("agent_steps_local", list(row), avro_file("agent_steps", [row]), "token")
    assert "242" in str(refused.value)
    assert isinstance(refused.value, TransientError)
