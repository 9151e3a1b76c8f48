"""The cluster's tables are those of a single server: derived, parsed by a real server, and run on two shards.

The test servers cannot replicate rows (docs/scaling.md), so on the two shards the engines are those of a single server;
everything else is what a cluster runs. test_replicas.py makes the replicated tables.
"""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
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
from tachograph.schemas.settings import ClickHouseSettings, LocalSettings, Settings
from tachograph.schemas.tables import TABLES
from tachograph.sinks.clickhouse.client import connect
from tachograph.sinks.clickhouse.cluster import BY_TRACE, DEDUPLICATION, EVERYWHERE, SHARD_KEYS, clustered
from tachograph.sinks.clickhouse.cluster_file import cluster_text
from tachograph.sinks.clickhouse.insert import ClickHouseInserts
from tachograph.sinks.clickhouse.kept_runs import keep_run, mark_kept_rows, marking
from tachograph.sinks.clickhouse.shipped import LEDGER_SQL, shipped_migrations
from tachograph.sinks.clickhouse.statements import statements
from tachograph.sinks.errors import MigrationFilesError, RowsRefusedError
from tests.deploy.test_roles import login
from tests.sinks.rows import avro_file, sample_row
from tests.sinks.running import eventually

FILE = Path(__file__).parents[2] / "deploy" / "clickhouse" / "cluster.sql"
SINGLE = [
    statement
    for sql in (LEDGER_SQL, *(migration.sql for migration in shipped_migrations()))
    for statement in statements(sql, database="tachograph")
]
DERIVED = [
    statement
    for sql in (LEDGER_SQL, *(migration.sql for migration in shipped_migrations()))
    for statement in clustered(sql, database="tachograph", cluster="tachograph")
]


def test_the_file_does_not_drift() -> None:
    """If this fails: `python -m tachograph.sinks.clickhouse.cluster_file > deploy/clickhouse/cluster.sql`."""
    assert FILE.read_text(encoding="utf-8") == cluster_text() + "\n"


def test_every_table_is_replicated_and_has_a_front_or_is_everywhere() -> None:
    """Each table of a single server, once; none without replication; the newest front knows every change."""
    single = {found[1] for text in SINGLE if (found := re.match(r"CREATE TABLE IF NOT EXISTS \S+?\.(\w+)", text))}
    stored = {
        found[1]: found[2]
        for text in DERIVED
        if (found := re.match(r"CREATE TABLE IF NOT EXISTS \S+?\.(\w+) ON CLUSTER.*?ENGINE = (\w+)", text, re.DOTALL))
    }
    assert {name.removesuffix("_local") for name in stored} == single
    assert all(engine.startswith("Replicated") for engine in stored.values())
    fronts = Counter(
        found[1] for text in DERIVED if (found := re.match(r"CREATE OR REPLACE TABLE \S+?\.(\w+) ON CLUSTER", text))
    )
    assert set(fronts) == single - EVERYWHERE
    assert {name for name in stored if not name.endswith("_local")} == EVERYWHERE & single
    for name in set(fronts):
        change = re.compile(rf"\w+ TABLE .*\.{name}_local ON CLUSTER")
        last_change = max(number for number, text in enumerate(DERIVED) if change.match(text))
        last_front = max(number for number, text in enumerate(DERIVED) if f".{name} ON CLUSTER `tachograph` AS" in text)
        assert last_front > last_change, name


def test_rows_of_a_trace_share_a_shard() -> None:
    """Every table that has a trace is sharded by tenant and trace, and no other key names a column it lacks."""
    for table in TABLES:
        columns = {column.name for column in table.columns}
        assert (table.name in SHARD_KEYS) == ("trace_id" not in columns), table.name
        key = SHARD_KEYS.get(table.name, BY_TRACE)
        assert set(re.findall(r"\w+_\w+", key)) <= columns, table.name
    assert BY_TRACE == "cityHash64(tenant_id, trace_id)"


def test_nothing_of_a_single_server_is_left_over() -> None:
    """Everything runs everywhere, windows are those of replicated tables, feeds stay on their shard."""
    for text in DERIVED:
        assert "non_replicated_deduplication_window" not in text
        assert " ON CLUSTER `tachograph`" in text or text.startswith("INSERT INTO"), text[:80]
        if text.startswith("CREATE MATERIALIZED VIEW"):
            read_and_written = re.findall(r"(?:TO|FROM) `tachograph`\.(\w+)", text)
            assert all(name.endswith("_local") or name in EVERYWHERE for name in read_and_written), read_and_written


def test_a_statement_that_no_rule_knows_is_refused() -> None:
    """Rather than run on one server of many."""
    with pytest.raises(MigrationFilesError, match="no rule"):
        clustered("DROP TABLE {database}.agent_runs", database="tachograph", cluster="c")
    with pytest.raises(MigrationFilesError, match="cannot be replicated"):
        clustered("CREATE TABLE IF NOT EXISTS {database}.t (a Int8) ENGINE = Null", database="tachograph", cluster="c")


@pytest.mark.stack
def test_a_real_server_understands_every_statement(stack: Settings) -> None:
    """Parsed, not run."""
    house = stack.clickhouse
    console = login(stack, house.console_user, house.console_password.get_secret_value())
    for text in DERIVED:
        assert console(f"SELECT length(formatQuery({_literal(text)})) > 0") == "1"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# -- Two shards --------------------------------------------------------------------------------------------------------


def _unreplicated(text: str) -> str:
    text = text.replace(" ON CLUSTER `tachograph`", "")
    text = re.sub(r"ENGINE = Replicated(\w+)\('[^']*', '[^']*'(?:, )?([^)]*)\)", r"ENGINE = \1(\2)", text)
    return text.replace(DEDUPLICATION, "non_replicated_deduplication_window = 10000")


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ClickHouseSettings]]:
    """Two real servers that know each other, with the derived tables."""
    folder = tmp_path_factory.mktemp("shards")
    servers = [(StateFolder(folder / f"shard-{n}"), choose_ports(LocalSettings())) for n in range(2)]
    with ExitStack() as stack:
        shards = []
        for state, ports in servers:
            state.clickhouse.mkdir(parents=True, exist_ok=True)
            server = ClickHouseServer(state, ports)
            server.prepare()
            _introduce(state.clickhouse, server.passwords(), [ports.clickhouse_tcp_port for _, ports in servers])
            child = server.child()
            log = stack.enter_context((state.clickhouse / "server.log").open("wb"))
            process = subprocess.Popen(child.argv, stdout=log, stderr=log)
            stack.callback(_stop, process)
            passwords = server.passwords()
            shards.append(
                (
                    server,
                    ClickHouseSettings(
                        http_port=ports.clickhouse_http_port,
                        migrate_password=SecretStr(passwords["migrate"]),
                        sink_password=SecretStr(passwords["sink"]),
                        console_password=SecretStr(passwords["console"]),
                    ),
                )
            )
        for server, _ in shards:
            eventually(server.ready, "a shard")
        found = [settings for _, settings in shards]
        _create(found)
        yield found


def _introduce(folder: Path, passwords: Mapping[str, str], ports: list[int]) -> None:
    """Name the cluster, and give it the accounts of a cluster's servers."""
    replicas = "".join(f"<shard><replica><host>127.0.0.1</host><port>{port}</port></replica></shard>" for port in ports)
    cluster = f"<remote_servers><tachograph><secret>between us</secret>{replicas}</tachograph></remote_servers>"
    config = folder / "config.xml"
    config.write_text(config.read_text().replace("</clickhouse>", f"{cluster}</clickhouse>"))
    (folder / "users.xml").write_text(users_xml(hashed(passwords), cluster=True))


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _create(shards: list[ClickHouseSettings]) -> None:
    clients = [connect(shard, shard.migrate_user, shard.migrate_password) for shard in shards]
    for text in ("CREATE DATABASE IF NOT EXISTS tachograph", *DERIVED):
        for client in clients[:1] if text.startswith("INSERT") else clients:
            client.command(_unreplicated(text))
    for client in clients:
        client.close()


def _ask(client: Client, sql: str) -> Any:
    return client.query(sql).result_rows


@pytest.mark.stack
@pytest.mark.skipif(sys.platform != "linux", reason="needs the local ClickHouse server")
def test_a_cluster_lands_every_row_once_on_the_shard_of_its_trace(shards: list[ClickHouseSettings]) -> None:
    """Repeats are dropped by every shard and rollup; a refused block reaches none; every server sees everything."""
    clients = [connect(shard, shard.console_user, shard.console_password) for shard in shards]
    calls = [
        sample_row(
            "tool_calls", n, tenant_id="acme", agent_id="a", leg="call", trace_id=f"t{n % 9}", run_id=f"r{n % 9}"
        )
        for n in range(60)
    ]
    with closing(ClickHouseInserts(shards[0])) as inserts:
        for _ in range(3):
            inserts.insert("tool_calls", list(calls[0]), avro_file("tool_calls", calls), "token")
        poisoned = [row | {"trace_id": f"x{n}"} for n, row in enumerate(calls)]
        poisoned[30]["metadata"] = {"prompt": "hunter2"}
        with pytest.raises(RowsRefusedError) as refused:
            inserts.insert("tool_calls", list(calls[0]), avro_file("tool_calls", poisoned), "poisoned")
        assert "hunter2" not in str(refused.value)
        for table in TABLES:
            if table.name != "tool_calls":
                rows = [sample_row(table.name, n, tenant_id=f"t{n}") for n in range(8)]
                for _ in range(2):
                    inserts.insert(table.name, list(rows[0]), avro_file(table.name, rows), f"{table.name}:0-8")
    by_trace = "SELECT trace_id, count() FROM tachograph.tool_calls_local GROUP BY trace_id"
    on_shard = [dict(_ask(client, by_trace)) for client in clients]
    assert not on_shard[0].keys() & on_shard[1].keys(), "a trace is on one shard"
    assert on_shard[0] | on_shard[1] == Counter(row["trace_id"] for row in calls)
    assert all(on_shard), "both shards have some"
    for client in clients:
        assert _ask(client, "SELECT count(), sum(calls) FROM tachograph.tool_usage_by_hour")[0][1] == 60
        for table in TABLES:
            expected = 60 if table.name == "tool_calls" else 8
            # Another test may have kept its runs here before.
            counted = _ask(client, f"SELECT count() FROM tachograph.{table.name} WHERE tenant_id != 'kept'")  # noqa: S608 - our names
            assert counted == [(expected,)], table.name
        for view in ("runs", "steps", "manifests", "events", "decisions", "replay_health", "model_usage_by_hour"):
            assert _ask(client, f"SELECT count() FROM tachograph.{view}")[0][0] > 0, view  # noqa: S608 - our names
        assert _ask(client, "SELECT uniqExact(SpanId) FROM tachograph.otel_traces")[0][0] > 0
        client.close()


@pytest.mark.stack
@pytest.mark.skipif(sys.platform != "linux", reason="needs the local ClickHouse server")
def test_rows_of_kept_runs_are_marked_on_every_shard(shards: list[ClickHouseSettings]) -> None:
    """The statement that a cluster is given once, given to each shard: no row of a kept run stays unmarked."""
    house = shards[0]
    rows = [
        sample_row("agent_steps", n, tenant_id="kept", agent_id="a", trace_id=f"t{n}", run_id=f"r{n}")
        for n in range(20)
    ]
    with closing(ClickHouseInserts(house)) as inserts:
        inserts.insert("agent_steps", list(rows[0]), avro_file("agent_steps", rows), "kept:0-20")
    for shard in shards:  # the small tables are everywhere, which without replication takes two inserts
        for run in range(5, 15):
            keep_run(shard, tenant_id="kept", run_id=f"r{run}", incident="INC-7", kept_by="test")
    assert mark_kept_rows(house, dry_run=True, cluster="tachograph")["agent_steps"] == 10
    clients = [connect(shard, shard.migrate_user, shard.migrate_password) for shard in shards]
    statement = _unreplicated(marking("tachograph", "agent_steps", "tachograph"))
    for client in clients:
        client.command(statement, settings={"mutations_sync": 2})
        client.close()
    assert mark_kept_rows(house, dry_run=True, cluster="tachograph")["agent_steps"] == 0
    with closing(connect(house, house.console_user, house.console_password)) as client:
        kept = _ask(
            client, "SELECT run_id FROM tachograph.agent_steps WHERE tenant_id = 'kept' AND _kept ORDER BY run_id"
        )
    assert {run for (run,) in kept} == {f"r{run}" for run in range(5, 15)}


def test_marking_names_the_stored_table_and_the_cluster() -> None:
    """A front cannot be altered."""
    assert marking("tachograph", "agent_steps", "c").startswith(
        "ALTER TABLE `tachograph`.agent_steps_local ON CLUSTER `c` UPDATE _kept = true WHERE"
    )
    assert "`tachograph`.agent_steps UPDATE" in marking("tachograph", "agent_steps")
