"""Reading as the console: refusals are sentences."""

import contextlib
import socket

import pytest
from pydantic import SecretStr

from tachograph.console.database import DatabaseUnreachableError, QueryRefusedError, reader
from tachograph.schemas.settings import Settings

pytestmark = pytest.mark.stack


def test_a_wrong_password_names_the_setting_and_not_the_password(servers: Settings) -> None:
    """Which account, which variable, nothing more."""
    wrong = servers.clickhouse.model_copy(update={"console_password": SecretStr("canary-5d1f")})
    with (
        pytest.raises(DatabaseUnreachableError, match="TACHOGRAPH_CLICKHOUSE__CONSOLE_PASSWORD") as caught,
        reader(servers.model_copy(update={"clickhouse": wrong})),
    ):
        pass
    assert "canary" not in str(caught.value)


def test_a_port_whose_digits_are_an_error_code(servers: Settings) -> None:
    """What the driver says of a server that is away names ports and ids; no digits of those are ClickHouse's codes."""
    with socket.socket() as taken:
        for port in (15160, 25160, 35160, 45160, 51600, 51601, 51602):
            with contextlib.suppress(OSError):
                taken.bind(("127.0.0.1", port))  # not listening: nobody else can, and connections are refused
                break
        away = servers.clickhouse.model_copy(update={"http_port": taken.getsockname()[1]})
        with (
            pytest.raises(DatabaseUnreachableError, match="does not answer"),
            reader(servers.model_copy(update={"clickhouse": away})),
        ):
            pass


def test_an_impossible_query_is_a_sentence(stack: Settings) -> None:
    """What ClickHouse says, without its stack and without what the driver says around it."""
    with (
        reader(stack) as database,
        pytest.raises(QueryRefusedError, match="query: Unknown table") as caught,
    ):
        database.rows("SELECT nothing FROM nowhere")
    for noise in ("version", "for url", "DB::Exception", "server response"):
        assert noise not in str(caught.value)


@pytest.mark.parametrize("statement", ["CREATE TABLE t (x Int8) ENGINE = Memory", "DROP DATABASE tachograph"])
def test_the_console_may_only_read(stack: Settings, statement: str) -> None:
    """The account behind `tachograph query` cannot change anything."""
    with reader(stack) as database, pytest.raises(QueryRefusedError):
        database.rows(statement)


def test_a_server_without_tables_says_what_to_run(servers: Settings) -> None:
    """A reader that comes before the migrations is told so."""
    early = servers.clickhouse.model_copy(update={"database": "nowhere"})
    with (
        pytest.raises(DatabaseUnreachableError, match="tachograph migrate"),
        reader(servers.model_copy(update={"clickhouse": early})),
    ):
        pass
