"""Numbered migrations: applied in order, each remembered with its checksum, never changed afterwards.

A migration is remembered after its last statement, and its statements can be repeated (``IF NOT EXISTS``), so a crash
in the middle is mended by running again.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import Error

from tachograph.schemas.settings import Settings
from tachograph.sinks.clickhouse.client import connect, translated
from tachograph.sinks.clickhouse.statements import quoted_identifier, statements
from tachograph.sinks.errors import (
    MigrationChangedError,
    MigrationFailedError,
    MigrationFilesError,
    MigrationUnknownError,
    MissingGrantError,
    SinkError,
    TransientError,
    WrongPasswordError,
)

LEDGER: Final = "schema_migrations"
_FILE_NAME: Final = re.compile(r"(?P<version>\d{4})_(?P<name>[a-z0-9_]+)\.sql")
_LEDGER_SQL: Final = f"""
CREATE TABLE IF NOT EXISTS {{database}}.{LEDGER}
(
    version UInt32 COMMENT 'Number of the migration.',
    name String COMMENT 'Its name.',
    checksum String COMMENT 'SHA-256 of its file.',
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When its last statement had run.'
)
ENGINE = MergeTree
ORDER BY version
COMMENT 'Migrations that were applied.'
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file."""

    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """SHA-256 of the file."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.version:04}_{self.name}"


def shipped_migrations() -> tuple[Migration, ...]:
    """The migrations of this version, in order."""
    folder = files("tachograph.sinks.clickhouse") / "migrations"
    found = []
    for file in folder.iterdir():
        if file.name.endswith(".sql"):
            matched = _FILE_NAME.fullmatch(file.name)
            if matched is None:
                raise MigrationFilesError(f"{file.name} is not a migration: name it like 0007_what_it_does.sql")
            found.append(Migration(int(matched["version"]), matched["name"], file.read_text(encoding="utf-8")))
    return ordered(found)


def ordered(migrations: Sequence[Migration]) -> tuple[Migration, ...]:
    """Sort by number. Raises MigrationFilesError unless the numbers are 1, 2, 3, … without gap or repeat."""
    found = tuple(sorted(migrations, key=lambda migration: migration.version))
    for expected, migration in enumerate(found, start=1):
        if migration.version < expected:
            raise MigrationFilesError(f"two migrations have the number {migration.version:04}: renumber the newer one")
        if migration.version > expected:
            raise MigrationFilesError(f"migration {expected:04} is missing: reinstall, or restore the file")
    return found


def pending(migrations: Sequence[Migration], applied: dict[int, str]) -> list[Migration]:
    """What is left to apply, given the checksums of what was. Raises a MigrationError if they contradict each other."""
    known = {migration.version: migration for migration in migrations}
    for version, checksum in sorted(applied.items()):
        if version not in known:
            raise MigrationUnknownError(
                f"the database has migration {version:04}, which this version does not know: "
                "it was migrated by a newer version. Upgrade this one."
            )
        if known[version].checksum != checksum:
            raise MigrationChangedError(
                f"migration {known[version]} was changed after it was applied. "
                "Restore the file as it was, and put the change into a new migration."
            )
    left = [migration for migration in migrations if migration.version not in applied]
    if left and applied and left[0].version < max(applied):
        raise MigrationUnknownError(
            f"migration {left[0]} was never applied, but later ones were: the ledger {LEDGER} has lost a row. "
            "Restore it from a backup of the database."
        )
    return left


def plan(
    client: Client, *, database: str = "tachograph", migrations: Sequence[Migration] | None = None
) -> list[Migration]:
    """What :func:`apply` would apply. Changes nothing: this is the dry run."""
    shipped = shipped_migrations() if migrations is None else ordered(migrations)
    return pending(shipped, _applied(client, database))


def apply(
    client: Client, *, database: str = "tachograph", migrations: Sequence[Migration] | None = None
) -> list[Migration]:
    """Bring the database up to this version and return what was applied."""
    left = plan(client, database=database, migrations=migrations)
    if not left:
        return []
    target = quoted_identifier(database)
    if not _exists(client, "databases", "name", database):
        _run(client, f"CREATE DATABASE IF NOT EXISTS {target}", "creating the database")
    for statement in statements(_LEDGER_SQL, database=database):
        _run(client, statement, "creating the ledger")
    for migration in left:
        for number, statement in enumerate(statements(migration.sql, database=database), start=1):
            _run(client, statement, f"statement {number} of migration {migration}")
        _remember(client, database, migration)
    return left


def migrate(settings: Settings, *, dry_run: bool = False) -> list[Migration]:
    """Migrate under the migrations' own account. Returns what was applied, or with ``dry_run`` what would be."""
    clickhouse = settings.clickhouse
    client = connect(clickhouse, clickhouse.migrate_user, clickhouse.migrate_password)
    try:
        step = plan if dry_run else apply
        return step(client, database=clickhouse.database)
    finally:
        client.close()


def _applied(client: Client, database: str) -> dict[int, str]:
    target = quoted_identifier(database)
    try:
        if client.command(f"EXISTS TABLE {target}.{LEDGER}") != 1:
            return {}
        rows = client.query(f"SELECT version, checksum FROM {target}.{LEDGER}").result_rows  # noqa: S608 - plain word
    except Error as error:
        raise _failure(error, "reading the ledger") from None
    return {int(version): str(checksum) for version, checksum in rows}


def _exists(client: Client, table: str, column: str, value: str) -> bool:
    try:
        # Shows only what the account may see, which is all that matters here.
        found = client.command(
            f"SELECT count() FROM system.{table} WHERE {column} = {{value:String}}",  # noqa: S608 - our own names
            parameters={"value": value},
        )
    except Error as error:
        raise _failure(error, "looking for the database") from None
    return found != 0


def _run(client: Client, statement: str, what: str) -> None:
    try:
        client.command(statement)
    except Error as error:
        raise _failure(error, what) from None


def _remember(client: Client, database: str, migration: Migration) -> None:
    try:
        client.insert(
            LEDGER,
            [[migration.version, migration.name, migration.checksum]],
            column_names=["version", "name", "checksum"],
            database=database,
            # Acknowledged must mean written; the server's default gathers small inserts for later.
            settings={"async_insert": 0},
        )
    except Error as error:
        raise _failure(error, f"remembering migration {migration}") from None


def _failure(error: Error, what: str) -> SinkError:
    ours = translated(error, f"the migrations' account, {what}")
    if isinstance(ours, WrongPasswordError | MissingGrantError) or (
        isinstance(ours, TransientError) and error.code is None
    ):
        return ours
    # Statements are ours and hold nothing captured, so ClickHouse's sentence may be shown.
    sentence = str(error).partition("DB::Exception: ")[2].partition(" (for url")[0] or f"code {error.code}"
    return MigrationFailedError(
        f"ClickHouse refused {what}: {sentence} Nothing is half-applied: mend it and run again."
    )
