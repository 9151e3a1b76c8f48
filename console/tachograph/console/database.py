"""Reading from ClickHouse as the console: an account that may only SELECT."""

import re
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

import clickhouse_connect
from clickhouse_connect.driver.exceptions import ClickHouseError
from clickhouse_connect.driver.httputil import get_pool_manager
from urllib3.exceptions import HTTPError

from tachograph.schemas.errors import TachographError
from tachograph.schemas.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clickhouse_connect.driver.client import Client
    from urllib3.response import HTTPResponse

_CHUNK: Final = 256 * 1024
_AUTHENTICATION_FAILED: Final = 516
_SAID: Final = re.compile(r"DB::Exception: (.*?)(?: \(version [^)]*\))?(?: \(for url [^)]*\))?$")
_UNKNOWN_DATABASE: Final = "UNKNOWN_DATABASE"


class DatabaseUnreachableError(TachographError):
    """ClickHouse did not answer or did not let us in."""


class QueryRefusedError(TachographError):
    """ClickHouse answered, and said no."""


class Reader:
    """Questions to ClickHouse. Answers are rows as tuples."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Sequence[Sequence[Any]]:
        """Rows of a query."""
        return self.table(sql, parameters)[1]

    def table(
        self, sql: str, parameters: Mapping[str, Any] | None = None, *, limits: Mapping[str, Any] | None = None
    ) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """Column names and rows of a query. ``limits`` are settings of ClickHouse for this query alone."""
        try:
            result = self._client.query(
                sql, parameters=dict(parameters or {}), settings=dict(limits or {}), tz_mode="aware"
            )
        except ClickHouseError as error:
            raise QueryRefusedError(f"ClickHouse refused the query: {_first_line(error)}") from None
        return result.column_names, result.result_rows

    def stream(
        self, sql: str, parameters: Mapping[str, Any], form: str, *, settings: Mapping[str, Any] | None = None
    ) -> "Iterator[bytes]":
        """The answer in one of ClickHouse's own formats, piece by piece."""
        try:
            opened = self._client.raw_stream(sql, parameters=dict(parameters), settings=dict(settings or {}), fmt=form)
        except ClickHouseError as error:
            raise QueryRefusedError(f"ClickHouse refused the query: {_first_line(error)}") from None
        with cast("HTTPResponse", opened) as answer:
            try:
                while chunk := answer.read(_CHUNK):
                    yield chunk
            except (OSError, HTTPError) as error:
                raise QueryRefusedError(f"ClickHouse broke off its answer ({type(error).__name__})") from None

    def syntax_tree(self, sql: str, limits: Mapping[str, Any] | None = None) -> list[str]:
        """How ClickHouse reads a SELECT: the lines of ``EXPLAIN AST``. The query itself is not run."""
        try:
            told = self._client.raw_query(f"EXPLAIN AST {sql}", settings=dict(limits or {}), fmt="TabSeparatedRaw")
        except ClickHouseError as error:
            raise QueryRefusedError(f"ClickHouse refused the query: {_first_line(error)}") from None
        return told.decode(errors="replace").splitlines()


@contextmanager
def reader(settings: Settings, *, connections: int = 8) -> "Iterator[Reader]":
    """A connection as the console's account; several, where several threads ask side by side."""
    clickhouse = settings.clickhouse
    pool = get_pool_manager(maxsize=connections, ca_cert=None if clickhouse.ca is None else str(clickhouse.ca))
    address = clickhouse.address
    try:
        client = clickhouse_connect.get_client(
            host=clickhouse.host,
            port=clickhouse.http_port,
            secure=clickhouse.secure,
            username=clickhouse.console_user,
            password=clickhouse.console_password.get_secret_value(),
            database=clickhouse.database,
            connect_timeout=clickhouse.connect_timeout_s,
            autogenerate_session_id=False,
            pool_mgr=pool,
        )
    except Exception as error:  # noqa: BLE001 - the driver lets urllib3's errors through as they are
        if getattr(error, "code", None) == _AUTHENTICATION_FAILED:
            raise DatabaseUnreachableError(
                f"ClickHouse at {address} does not accept {clickhouse.console_user}: "
                "check TACHOGRAPH_CLICKHOUSE__CONSOLE_PASSWORD"
            ) from None
        if _UNKNOWN_DATABASE in str(error):
            raise DatabaseUnreachableError(
                f"ClickHouse at {address} has no database {clickhouse.database} yet: run `tachograph migrate`"
            ) from None
        raise DatabaseUnreachableError(
            f"ClickHouse at {address} does not answer: start the local stack with `tachograph up`, "
            "or set TACHOGRAPH_CLICKHOUSE__HOST, __HTTP_PORT and __SECURE"
        ) from None
    try:
        yield Reader(client)
    finally:
        client.close()
        pool.clear()


def _first_line(error: Exception) -> str:
    """What ClickHouse says, without what the driver says around it."""
    said = str(error).strip().splitlines()
    if not said:
        return type(error).__name__
    found = _SAID.search(said[0])
    return (found[1] if found else said[0])[:300]
