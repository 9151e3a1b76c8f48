"""Who may do what in the real ClickHouse server, and that the real broker keeps what it is given."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
)

from tachograph.schemas.settings import Settings

pytestmark = pytest.mark.stack

ACCESS_DENIED, AUTHENTICATION_FAILED, READONLY, CONSTRAINT = 497, 516, 164, 452

Ask = Callable[[str, str], str]


class Refused(Exception):  # noqa: N818 - reads as what happened
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def login(settings: Settings, user: str, password: str) -> Callable[[str], str]:
    url = f"http://{settings.clickhouse.host}:{settings.clickhouse.http_port}/"
    headers = {"X-ClickHouse-User": user, **({"X-ClickHouse-Key": password} if password else {})}

    def query(sql: str) -> str:
        request = urllib.request.Request(url, sql.encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 - as above
                return str(response.read().decode().strip())
        except urllib.error.HTTPError as error:
            with error:
                raise Refused(int(error.headers["X-ClickHouse-Exception-Code"]), error.read().decode()) from None

    return query


@pytest.fixture(scope="module")
def ask(servers: Settings) -> Ask:
    house = servers.clickhouse
    users = {
        "migrate": login(servers, house.migrate_user, house.migrate_password.get_secret_value()),
        "sink": login(servers, house.sink_user, house.sink_password.get_secret_value()),
        "console": login(servers, house.console_user, house.console_password.get_secret_value()),
        "admin": login(servers, "tachograph_admin", admin_password(servers)),
        "default": login(servers, "default", ""),
    }
    return lambda role, sql: users[role](sql)


def admin_password(servers: Settings) -> str:
    return str(json.loads((servers.home / "clickhouse" / "passwords.json").read_text())["admin"])


@pytest.fixture(scope="module")
def table(ask: Ask) -> Iterator[str]:
    name = f"tachograph.roles_{uuid4().hex}"
    ask("migrate", "CREATE DATABASE IF NOT EXISTS tachograph")
    ask("migrate", f"CREATE TABLE {name} (x UInt32) ENGINE = MergeTree ORDER BY x")
    ask("sink", f"INSERT INTO {name} VALUES (7)")  # noqa: S608 - a name made here
    yield name
    ask("migrate", f"DROP TABLE {name}")


def test_each_role_does_its_work(ask: Ask, table: str) -> None:
    """Migrations create, the sink inserts, the console reads."""
    assert ask("console", f"SELECT x FROM {table} WHERE x = 7") == "7"  # noqa: S608 - a name made here
    assert "SELECT sleepEachRow" in ask("admin", "SELECT query FROM system.processes")


@pytest.mark.parametrize(
    ("role", "sql", "code"),
    [
        pytest.param("sink", "SELECT x FROM {table}", ACCESS_DENIED, id="the sink does not read"),
        pytest.param("sink", "ALTER TABLE {table} DELETE WHERE 1", ACCESS_DENIED, id="the sink does not delete"),
        pytest.param("sink", "ALTER TABLE {table} UPDATE x = 1 WHERE 1", ACCESS_DENIED, id="the sink does not change"),
        pytest.param("sink", "TRUNCATE TABLE {table}", ACCESS_DENIED, id="the sink does not empty"),
        pytest.param("sink", "DROP TABLE {table}", ACCESS_DENIED, id="the sink does not drop"),
        pytest.param("sink", "SELECT * FROM system.processes", ACCESS_DENIED, id="the sink does not see queries"),
        pytest.param("console", "INSERT INTO {table} VALUES (1)", ACCESS_DENIED, id="the console does not insert"),
        pytest.param("console", "DROP TABLE {table}", ACCESS_DENIED, id="the console does not drop"),
        pytest.param("console", "SET readonly = 0", READONLY, id="the console stays read-only"),
        pytest.param("console", "SELECT 1 SETTINGS max_execution_time = 31", CONSTRAINT, id="no more time than 30 s"),
        pytest.param("console", "SELECT 1 SETTINGS max_execution_time = 0", CONSTRAINT, id="no unlimited time"),
        pytest.param("console", "SELECT 1 SETTINGS max_memory_usage = 0", CONSTRAINT, id="no unlimited memory"),
        pytest.param("console", "SELECT 1 SETTINGS max_result_rows = 0", CONSTRAINT, id="no unlimited result"),
        pytest.param("console", "SELECT * FROM url('http://127.0.0.1/', 'TSV')", ACCESS_DENIED, id="no way out"),
        pytest.param("console", "SELECT * FROM file('users.xml', 'TSV', 'a String')", ACCESS_DENIED, id="no files"),
        pytest.param("migrate", "CREATE DATABASE other", ACCESS_DENIED, id="migrations stay in their database"),
        pytest.param(
            "migrate",
            "CREATE TABLE tachograph.k (x UInt8) ENGINE = Kafka('a', 'b', 'c', 'CSV')",
            ACCESS_DENIED,
            id="no Kafka table, which would break the data folder",
        ),
        pytest.param("admin", "SELECT x FROM {table}", ACCESS_DENIED, id="the administrator does not read records"),
        pytest.param("default", "SELECT x FROM {table}", ACCESS_DENIED, id="default does not read"),
        pytest.param("default", "INSERT INTO {table} VALUES (1)", ACCESS_DENIED, id="default does not insert"),
        pytest.param(
            "default", "CREATE TABLE t (x UInt8) ENGINE = Memory", ACCESS_DENIED, id="default creates nothing"
        ),
        pytest.param("default", "CREATE USER u", ACCESS_DENIED, id="default makes no users"),
    ],
)
def test_no_role_does_more(ask: Ask, table: str, role: str, sql: str, code: int) -> None:
    """Refused by the server, whatever our own code would do."""
    with pytest.raises(Refused) as refused:
        ask(role, sql.format(table=table))
    assert refused.value.code == code


@pytest.mark.parametrize("user", ["migrate", "sink", "console", "admin"])
@pytest.mark.parametrize("password", ["wrong", ""])
def test_a_wrong_password_is_refused(servers: Settings, user: str, password: str) -> None:
    """No account of ours is open."""
    with pytest.raises(Refused) as refused:
        login(servers, f"tachograph_{user}", password)("SELECT 1")
    assert refused.value.code == AUTHENTICATION_FAILED


def test_passwords_are_in_private_files_only(servers: Settings) -> None:
    """The server's file has hashes; no log has a password."""
    passwords = json.loads((servers.home / "clickhouse" / "passwords.json").read_text()).values()
    users = servers.home / "clickhouse" / "users.xml"
    for path in (users, servers.home / "stack.json", *(servers.home / "logs").iterdir()):
        assert not any(password in path.read_text(errors="replace") for password in passwords), path
    private = [users, users.with_name("passwords.json"), servers.home / "stack.env", servers.home / "stack.json"]
    assert {path.stat().st_mode & 0o777 for path in private} == {0o600}


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_the_broker_keeps_what_it_is_given(servers: Settings, compression: str) -> None:
    """Every codec's jar is in the pinned list."""
    topic = f"deploy-{uuid4().hex}"
    admin = AdminClient(servers.kafka.client())
    admin.create_topics([NewTopic(topic, 1, 1, config={"compression.type": "uncompressed"})])[topic].result(30)
    producer = Producer(servers.kafka.client(**{"compression.type": compression}))
    values = [b"value %d" % number * 100 for number in range(50)]
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0
    consumer = Consumer(servers.kafka.client(**{"group.id": topic, "auto.offset.reset": "earliest"}))
    try:
        consumer.subscribe([topic])
        messages = consumer.consume(len(values), timeout=30)
    finally:
        consumer.close()
        admin.delete_topics([topic])[topic].result(30)
    assert [message.value() for message in messages] == values


def test_a_misspelt_topic_does_not_appear(servers: Settings) -> None:
    """Topics are made on purpose only."""
    name = f"misspelt-{uuid4().hex}"
    metadata = AdminClient(servers.kafka.client()).list_topics(name, timeout=30)
    assert metadata.topics[name].error is not None
