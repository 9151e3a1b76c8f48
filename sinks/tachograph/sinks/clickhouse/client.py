"""The one place where a ClickHouse client is made, and where its errors become ours."""

from typing import Final

import clickhouse_connect
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import Error
from pydantic import SecretStr

from tachograph.schemas.settings import ClickHouseSettings
from tachograph.sinks.errors import (
    ClickHouseBusyError,
    ClickHouseUnreachableError,
    MissingGrantError,
    MissingTableError,
    RowsRefusedError,
    SinkError,
    WrongPasswordError,
)

# A full batch takes a second or two. A server that needs longer than this is hung or drowning, and asking again under
# the same token is safe.
ANSWER_TIMEOUT_S: Final = 30

# Codes are ClickHouse's own, from its ErrorCodes list.
_PASSWORD: Final = frozenset({192, 193, 194, 516})
_GRANT: Final = frozenset({164, 291, 452, 497})
_TABLE: Final = frozenset({8, 16, 47, 60, 81, 115})
_REFUSED: Final = {
    6: "a value could not be parsed",
    9: "a size does not match",
    25: "a value could not be parsed",
    26: "a value could not be parsed",
    27: "a value could not be parsed",
    32: "the row ends too early",
    33: "the row ends too early",
    41: "a time could not be parsed",
    53: "a type does not match",
    69: "a value is out of range",
    70: "a value could not be converted",
    72: "a number could not be parsed",
    117: "the bytes contradict their schema",
    128: "an array is too large",
    131: "a text is too large",
    261: "a block of the file is wrong",
    321: "a value is out of range",
    349: "a required value is missing",
    407: "a number overflows",
    469: "a guard of the table forbids it",
    1001: "the bytes contradict their schema",
}
"""What ClickHouse says about rows, never about itself. Constraint guards are 469; a broken Avro row is mostly 117 or
1001."""


def connect(settings: ClickHouseSettings, user: str, password: SecretStr) -> Client:
    """Open a client for one account. Raises a typed error if ClickHouse does not answer or does not let us in."""
    try:
        return clickhouse_connect.get_client(
            host=settings.host,
            port=settings.http_port,
            secure=settings.secure,
            ca_cert=None if settings.ca is None else str(settings.ca),
            username=user,
            password=password.get_secret_value(),
            connect_timeout=max(1, round(settings.connect_timeout_s)),
            send_receive_timeout=ANSWER_TIMEOUT_S,
            autogenerate_session_id=False,  # a session allows one query at a time; inserts run side by side
            compress=False,
            query_retries=0,
            client_name="tachograph",
        )
    except Error as error:
        raise translated(error, f"{user} at {settings.address}") from None


def translated(error: Error, who: str) -> SinkError:
    """Our error for ClickHouse's. ``who`` names the account and place, for the sentence."""
    code = error.code
    if code is None:
        return ClickHouseUnreachableError(
            f"ClickHouse did not answer ({who}). Is it running, and are clickhouse.host, http_port and secure right?"
        )
    if code in _PASSWORD:
        return WrongPasswordError(
            f"ClickHouse does not accept the password of {who} (code {code}). "
            "Set TACHOGRAPH_CLICKHOUSE__…_PASSWORD of this role to what the server has."
        )
    if code in _GRANT:
        return MissingGrantError(
            f"ClickHouse does not let {who} do this (code {code}). "
            "Grant the role what deploy/clickhouse/users.xml gives it."
        )
    if code in _TABLE:
        return MissingTableError(
            f"ClickHouse has no such table, column or setting (code {code}, {who}). Run `tachograph migrate`."
        )
    if code in _REFUSED:
        return RowsRefusedError(f"ClickHouse refused the row: {_REFUSED[code]} (code {code})", code=code)
    return ClickHouseBusyError(
        f"ClickHouse cannot take an insert now (code {code}, {who}). Its log says why; the sink goes on trying."
    )
