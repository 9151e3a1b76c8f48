"""Whether ClickHouse is there, each account gets in and may do what it should and no more, and tables are current."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import Error
from pydantic import SecretStr

from tachograph.console.doctor.finding import Finding, fail, ok, skipped
from tachograph.schemas.errors import TachographError
from tachograph.schemas.settings import Settings
from tachograph.sinks.clickhouse.client import connect
from tachograph.sinks.clickhouse.migrate import pending
from tachograph.sinks.clickhouse.shipped import LEDGER, shipped_migrations
from tachograph.sinks.clickhouse.statements import quoted_identifier
from tachograph.sinks.errors import WrongPasswordError

_NO_SERVER: Final = "ClickHouse does not answer"
_VERBS: Final = {
    "console": frozenset({"SELECT"}),
    "sink": frozenset({"INSERT"}),
    "migrate": frozenset({"CREATE TABLE", "ALTER TABLE"}),
}
"""What each account must be able to do."""
_ROLES: Final = tuple(_VERBS)


def check_tables(settings: Settings, now: datetime | None = None) -> Iterator[Finding]:
    """Server, accounts, grants, migrations and clock."""
    clickhouse = settings.clickhouse
    address = clickhouse.address
    clients: dict[str, Client] = {}
    problems: dict[str, Finding] = {}
    try:
        for role in _ROLES:
            user, password = _account(settings, role)
            try:
                clients[role] = connect(clickhouse, user, password)
            except WrongPasswordError:
                variable = f"TACHOGRAPH_CLICKHOUSE__{role.upper()}_PASSWORD"
                problems[role] = fail("clickhouse.accounts", f"{user} is not let in", f"check {variable}")
            except TachographError:
                yield fail(
                    "clickhouse.server",
                    f"does not answer at {address}",
                    "start it with `tachograph up`, or set TACHOGRAPH_CLICKHOUSE__HOST and __HTTP_PORT",
                )
                names = ("clickhouse.accounts", "clickhouse.grants", "clickhouse.migrations", "clock")
                yield from (skipped(name, _NO_SERVER) for name in names)
                return
        yield ok("clickhouse.server", f"answers at {address}")
        yield from problems.values()
        if not problems:
            yield ok("clickhouse.accounts", f"{', '.join(_ROLES)} are let in")
        yield from _grants(clients)
        yield _migrations(clients, clickhouse.database)
        yield _clock(clients, settings.doctor.max_clock_skew_s, now)
    finally:
        for client in clients.values():
            client.close()


def _account(settings: Settings, role: str) -> tuple[str, SecretStr]:
    section: Any = settings.clickhouse
    return getattr(section, f"{role}_user"), getattr(section, f"{role}_password")


def _grants(clients: dict[str, Client]) -> Iterator[Finding]:
    """The writer may only insert and the reader only read. More is as wrong as less."""
    wrong = []
    for role, client in clients.items():
        try:
            granted = [str(row[0]) for row in client.query("SHOW GRANTS").result_rows]
        except Error:
            wrong.append(f"{role} may not look at its own grants")
            continue
        wrong += wrong_grants(role, granted)
    if wrong:
        todo = "give the accounts the grants of deploy/clickhouse/users.xml, no more and no less"
        yield fail("clickhouse.grants", "; ".join(wrong), todo)
    elif clients:
        yield ok("clickhouse.grants", "the sink may only insert, the console only read")
    else:
        yield skipped("clickhouse.grants", "no account is let in")


def wrong_grants(role: str, granted: Sequence[str]) -> list[str]:
    """What is wrong with the answers to SHOW GRANTS. Pure."""
    found = {verb for grant in granted for verb in _verbs(grant)}
    needed = _VERBS[role]
    said = [f"{role} may not {verb}" for verb in sorted(needed - found) if "ALL" not in found]
    if role != "migrate":  # whoever makes the tables may do anything to them
        said += [f"{role} may {verb}" for verb in sorted(found - needed)]
    return said


def _verbs(grant: str) -> list[str]:
    """``GRANT SELECT(a, b), INSERT ON tachograph.* TO x`` as SELECT and INSERT."""
    listed = re.sub(r"\([^)]*\)", "", grant.removeprefix("GRANT ")).partition(" ON ")[0]
    return [verb.strip() for verb in listed.split(",")]


def _migrations(clients: dict[str, Client], database: str) -> Finding:
    client = clients.get("console") or clients.get("migrate")
    if client is None:
        return skipped("clickhouse.migrations", "no account is let in")
    try:
        rows = client.query(f"SELECT version, checksum FROM {quoted_identifier(database)}.{LEDGER}").result_rows  # noqa: S608 - quoted
    except Error:
        return fail("clickhouse.migrations", f"the database {database} has no tables yet", "run `tachograph migrate`")
    try:
        left = pending(shipped_migrations(), {int(version): str(checksum) for version, checksum in rows})
    except TachographError as error:
        return fail("clickhouse.migrations", str(error), "bring program and database to the same version")
    if left:
        return fail("clickhouse.migrations", f"{len(left)} are not applied", "run `tachograph migrate`")
    return ok("clickhouse.migrations", f"all {len(rows)} are applied")


def _clock(clients: dict[str, Client], most_s: float, now: datetime | None) -> Finding:
    client = next(iter(clients.values()), None)
    if client is None:
        return skipped("clock", "no account is let in")
    before = datetime.now(UTC)
    seconds = client.query("SELECT toUnixTimestamp64Micro(now64(6)) / 1000000").result_rows[0][0]
    after = datetime.now(UTC)
    # The answer was made somewhere between the two: what lies between them is no skew.
    here = (now, now) if now is not None else (before, after)
    skew = max(here[0].timestamp() - seconds, seconds - here[1].timestamp(), 0.0)
    if skew > most_s:
        detail = f"this machine and ClickHouse's disagree by {skew:,.1f} s"
        return fail("clock", detail, "let both take their time from the network (chrony, systemd-timesyncd)")
    return ok("clock", f"agrees with ClickHouse's within {most_s:g} s")
