"""The same tables on a cluster: derived from the single server's migrations, so that the two cannot drift apart.

A table becomes two. ``T_local`` holds a shard's rows and is replicated within the shard; ``T``, which sinks write to
and people read from, is a Distributed table over all of them. All rows of a trace are on one shard, so the views that
feed rollups work shard by shard. A few small tables (``EVERYWHERE``) are replicated to every server instead.

``T`` has the guards of ``T_local`` too, and is made anew whenever they change: what it refuses has reached no shard, so
an insert still lands whole or not at all.

``deploy/clickhouse/cluster.sql`` has the whole set for people to read; ``cluster_file.py`` writes it.
"""

import re
from typing import Final

from tachograph.sinks.clickhouse.statements import quoted_identifier, statements
from tachograph.sinks.errors import MigrationFilesError

EVERYWHERE: Final = frozenset({"schema_migrations", "model_prices", "kept_runs"})
"""Small tables that every server has whole, under one path for all shards."""

SHARD_KEYS: Final = {
    "checkpoints": "cityHash64(tenant_id, log_id)",
    "content_views": "cityHash64(tenant_id, run_id)",
    "log_heads": "cityHash64(tenant_id)",
    "dead_letters": "cityHash64(tenant_id, source_topic, source_partition)",
    "model_minutes": "cityHash64(tenant_id, agent_id)",
    "model_hours": "cityHash64(tenant_id, agent_id)",
    "tool_minutes": "cityHash64(tenant_id, agent_id)",
    "tool_hours": "cityHash64(tenant_id, agent_id)",
}
"""How rows without a trace find their shard. Rollups are filled where their rows are, and only read across shards."""
BY_TRACE: Final = "cityHash64(tenant_id, trace_id)"

DEDUPLICATION: Final = "replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800"
"""As many inserts as a single server remembers, and for as long as Kafka keeps their rows."""

_TABLE: Final = re.compile(r"CREATE TABLE IF NOT EXISTS (?P<database>`\w+`)\.(?P<table>\w+)")
_ALTER: Final = re.compile(r"ALTER TABLE (?P<database>`\w+`)\.(?P<table>\w+)")
_FEED: Final = re.compile(
    r"CREATE MATERIALIZED VIEW IF NOT EXISTS (?P<database>`\w+`)\.(?P<view>\w+) TO (?:`\w+`)\.\w+"
)
_VIEW: Final = re.compile(r"CREATE OR REPLACE VIEW (?P<name>`\w+`\.\w+)")
_ENGINE: Final = re.compile(r"ENGINE = (?P<engine>\w*MergeTree)(?:\((?P<arguments>[^)]*)\))?")
_WINDOW: Final = re.compile(r"non_replicated_deduplication_window = \d+")


def clustered(sql: str, *, database: str, cluster: str) -> list[str]:
    """The statements of a migration as a cluster takes them. Each can be repeated."""
    name = quoted_identifier(cluster)
    made: list[str] = []
    changed: dict[str, None] = {}
    for statement in statements(sql, database=database):
        derived, table = _clustered(statement, name, database)
        if table is not None:
            changed[table] = None
        else:  # a view or an insert may need what was changed before it
            made += [_front(done, name, database) for done in changed]
            changed.clear()
        made.append(derived)
    return made + [_front(done, name, database) for done in changed]


def _clustered(statement: str, cluster: str, database: str) -> tuple[str, str | None]:
    """The statement for every server, and the table whose front has to be made anew after it."""
    if (found := _TABLE.match(statement)) is not None:
        table = found["table"]
        body = _WINDOW.sub(DEDUPLICATION, _replicated(statement[found.end() :], table, database))
        return f"CREATE TABLE IF NOT EXISTS {found['database']}.{stored(table)} ON CLUSTER {cluster}{body}", _fronted(
            table
        )
    if (found := _ALTER.match(statement)) is not None:
        table = found["table"]
        body = _WINDOW.sub(DEDUPLICATION, statement[found.end() :])
        return f"ALTER TABLE {found['database']}.{stored(table)} ON CLUSTER {cluster}{body}", _fronted(table)
    if (found := _FEED.match(statement)) is not None:
        head = found[0].replace(f".{found['view']} TO", f".{found['view']} ON CLUSTER {cluster} TO", 1)
        return _on_shard(head + statement[found.end() :]), None
    if (found := _VIEW.match(statement)) is not None:
        return f"{found[0]} ON CLUSTER {cluster}{statement[found.end() :]}", None
    if statement.startswith("INSERT INTO "):
        return statement, None  # once, from wherever it runs: into what is everywhere, from what is across all shards
    raise MigrationFilesError(f"no rule says what a cluster does with: {statement.splitlines()[0][:80]}")


def _replicated(body: str, table: str, database: str) -> str:
    def engine(found: "re.Match[str]") -> str:
        where = "all" if table in EVERYWHERE else "{shard}"
        replica = "{shard}-{replica}" if table in EVERYWHERE else "{replica}"
        path = f"'/clickhouse/tables/{where}/{database}/{stored(table)}', '{replica}'"
        more = f", {found['arguments']}" if found["arguments"] else ""
        return f"ENGINE = Replicated{found['engine']}({path}{more})"

    replaced, count = _ENGINE.subn(engine, body, count=1)
    if not count:
        raise MigrationFilesError(f"the table {table} has an engine that cannot be replicated")
    return replaced


def _on_shard(statement: str) -> str:
    """A feed reads and writes what its own server stores."""
    return re.sub(r"\b(TO|FROM) (`\w+`)\.(\w+)", lambda found: f"{found[1]} {found[2]}.{stored(found[3])}", statement)


def _front(table: str, cluster: str, database: str) -> str:
    name = quoted_identifier(database)
    return (
        f"CREATE OR REPLACE TABLE {name}.{table} ON CLUSTER {cluster} AS {name}.{stored(table)}\n"
        f"ENGINE = Distributed({cluster}, {name}, {stored(table)}, {SHARD_KEYS.get(table, BY_TRACE)})"
    )


def stored(table: str) -> str:
    """The table that holds rows, of which sinks and people see the front."""
    return table if table in EVERYWHERE else f"{table}_local"


def _fronted(table: str) -> str | None:
    return None if table in EVERYWHERE else table
