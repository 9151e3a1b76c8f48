"""What a person may ask on the query page: one SELECT over this database's tables, of this tenant's rows.

ClickHouse adds the tenant's condition to every table that is read (``additional_table_filters``). Two things could get
around that, so they are refused: a SETTINGS clause, which could take the conditions off, and table functions, which
read without them. Whether a query has any is told by ClickHouse's own parser, not by looking at the text.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from tachograph.schemas.errors import TachographError

_BEGINS: Final = re.compile(r"\s*(SELECT|WITH)\b", re.IGNORECASE)
_NODE: Final = re.compile(r"^(?P<indent> *)(?P<kind>\w+)(?: (?P<name>.*?))?(?: \(alias .*?\))?(?: \(children \d+\))?$")
FUNCTIONS: Final = frozenset({"numbers", "zeros", "values"})
"""Table functions that read no table."""


class QueryNotAllowedError(TachographError):
    """The query is refused before it is asked. The sentence says what to change."""


def check_beginning(sql: str) -> None:
    """Refuse what is not a SELECT."""
    if _BEGINS.match(sql) is None:
        raise QueryNotAllowedError("Only a SELECT (or WITH … SELECT) can be asked here.")


def check_tree(tree: Sequence[str], database: str) -> None:
    """Refuse a query by its syntax tree, as ``EXPLAIN AST`` prints it."""
    parents: list[tuple[int, str]] = []
    for line in tree:
        found = _NODE.match(line)
        if found is None:
            raise QueryNotAllowedError("This query cannot be checked, so it is not asked.")
        depth, kind, name = len(found["indent"]), found["kind"], found["name"] or ""
        while parents and parents[-1][0] >= depth:
            parents.pop()
        if kind == "Set":
            raise QueryNotAllowedError("A query here has no SETTINGS clause: its limits are set by the console.")
        if parents and parents[-1][1] == "TableExpression":
            _check_source(kind, name, database)
        parents.append((depth, kind))


def _check_source(kind: str, name: str, database: str) -> None:
    if kind == "Function" and name not in FUNCTIONS:
        raise QueryNotAllowedError(f"The table function {name} is not available here: name a table.")
    if kind == "TableIdentifier":
        where, dot, _ = name.partition(".")
        if dot and where != database:
            raise QueryNotAllowedError(f"Only tables of {database} can be read here.")


def tenant_filters(tables: Iterable[tuple[str, bool]], database: str, tenant_id: str) -> str:
    """The setting that adds the tenant's condition to every table; a table without tenants gives no rows.

    ``tables`` are names, and whether each has a column ``tenant_id``.
    """
    mine = f"tenant_id = {_quoted(tenant_id)}"
    pairs = ", ".join(f"{_quoted(f'{database}.{name}')}: {_quoted(mine if owned else '0')}" for name, owned in tables)
    return f"{{{pairs}}}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
