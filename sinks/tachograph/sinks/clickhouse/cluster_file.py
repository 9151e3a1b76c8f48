"""The migrations of a cluster as one file, ``deploy/clickhouse/cluster.sql``. Run as a module, it goes to stdout."""

import sys
from collections.abc import Iterable, Iterator, Sequence

from tachograph.sinks.clickhouse.cluster import clustered
from tachograph.sinks.clickhouse.shipped import LEDGER_SQL, Migration, shipped_migrations
from tachograph.sinks.clickhouse.statements import quoted_identifier


def cluster_text(
    migrations: Iterable[Migration] | None = None, *, database: str = "tachograph", cluster: str = "tachograph"
) -> str:
    """The whole set as one file."""
    return "\n".join(_lines(shipped_migrations() if migrations is None else migrations, database, cluster))


def _lines(migrations: Iterable[Migration], database: str, cluster: str) -> Iterator[str]:
    yield "-- Every table and view on a cluster, made by `python -m tachograph.sinks.clickhouse.cluster_file` from the"
    yield "-- migrations of a single server; a test compares the two. `tachograph migrate --cluster NAME` runs it."
    yield "-- docs/scaling.md explains it."
    yield ""
    yield f"CREATE DATABASE IF NOT EXISTS {quoted_identifier(database)} ON CLUSTER {quoted_identifier(cluster)};"
    for title, sql in (("ledger", LEDGER_SQL), *((migration.name, migration.sql) for migration in migrations)):
        yield f"\n-- {title}"
        for statement in clustered(sql, database=database, cluster=cluster):
            yield f"\n{statement};"


def main(arguments: Sequence[str] = ()) -> int:
    """Write the set to stdout."""
    sys.stdout.write(cluster_text(cluster=arguments[0] if arguments else "tachograph") + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
