"""Numbered migrations: applied in order, each remembered with its checksum, never changed afterwards.

A migration is remembered after its last statement, and its statements can be repeated (``IF NOT EXISTS``), so a crash
in the middle is mended by running again.
"""

from collections.abc import Sequence

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import Error

from tachograph.schemas.settings import Settings
from tachograph.sinks.clickhouse.client import connect, translated
from tachograph.sinks.clickhouse.cluster import clustered
from tachograph.sinks.clickhouse.shipped import LEDGER, LEDGER_SQL, Migration, ordered, shipped_migrations
from tachograph.sinks.clickhouse.statements import quoted_identifier, statements
from tachograph.sinks.errors import (
    MigrationChangedError,
    MigrationFailedError,
    MigrationUnknownError,
    MissingGrantError,
    SinkError,
    TransientError,
    WrongPasswordError,
)


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
    client: Client,
    *,
    database: str = "tachograph",
    migrations: Sequence[Migration] | None = None,
    cluster: str | None = None,
) -> list[Migration]:
    """Bring the database up to this version and return what was applied: on one server, or on all of a cluster."""
    left = plan(client, database=database, migrations=migrations)
    if not left:
        return []
    target = quoted_identifier(database)
    if cluster is not None:
        everywhere = f"ON CLUSTER {quoted_identifier(cluster)}"
        _run(client, f"CREATE DATABASE IF NOT EXISTS {target} {everywhere}", "creating the database")
    elif not _exists(client, "databases", "name", database):
        _run(client, f"CREATE DATABASE IF NOT EXISTS {target}", "creating the database")
    for statement in migration_statements(LEDGER_SQL, database=database, cluster=cluster):
        _run(client, statement, "creating the ledger")
    for migration in left:
        steps = migration_statements(migration.sql, database=database, cluster=cluster)
        for number, statement in enumerate(steps, start=1):
            _run(client, statement, f"statement {number} of migration {migration}")
        _remember(client, database, migration)
    return left


def migration_statements(sql: str, *, database: str, cluster: str | None = None) -> list[str]:
    """What a migration runs: as it stands on one server, derived from it on a cluster."""
    if cluster is None:
        return statements(sql, database=database)
    return clustered(sql, database=database, cluster=cluster)


def migrate(settings: Settings, *, dry_run: bool = False, cluster: str | None = None) -> list[Migration]:
    """Migrate under the migrations' own account. Returns what was applied, or with ``dry_run`` what would be."""
    clickhouse = settings.clickhouse
    client = connect(clickhouse, clickhouse.migrate_user, clickhouse.migrate_password)
    try:
        if dry_run:
            return plan(client, database=clickhouse.database)
        return apply(client, database=clickhouse.database, cluster=cluster)
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
