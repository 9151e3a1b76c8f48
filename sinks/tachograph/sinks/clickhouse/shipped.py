"""The migrations of this version, as files: numbered without gap or repeat, each with its checksum."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from tachograph.sinks.errors import MigrationFilesError

LEDGER: Final = "schema_migrations"
_FILE_NAME: Final = re.compile(r"(?P<version>\d{4})_(?P<name>[a-z0-9_]+)\.sql")
LEDGER_SQL: Final = f"""
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
