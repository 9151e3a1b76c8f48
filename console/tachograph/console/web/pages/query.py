"""Ask ClickHouse anything about one's own tenant. Content may come back, so each query is recorded."""

import time
from typing import Final

from starlette.responses import Response

from tachograph.console.database import QueryRefusedError
from tachograph.console.web.asked import Asked
from tachograph.console.web.query_guard import QueryNotAllowedError, check_beginning, check_tree, tenant_filters
from tachograph.schemas import tables

ROWS: Final = 200
LIMITS: Final = {
    "max_execution_time": 10,
    "max_result_rows": ROWS,
    "result_overflow_mode": "break",
    "max_memory_usage": 1 << 30,
    "max_result_bytes": 8 << 20,
}
EXAMPLE: Final = (
    "SELECT tool_name, count() AS calls, countIf(error_type IS NOT NULL) AS failed, avg(duration_ms) AS ms\n"
    "FROM tool_calls WHERE leg = 'call' GROUP BY tool_name ORDER BY calls DESC"
)

_TABLES: Final = (
    "SELECT table AS known, max(name = 'tenant_id') AS owned FROM system.columns "
    "WHERE database = {database:String} GROUP BY known"
)


def form(asked: Asked) -> Response:
    """An empty page with an example."""
    return _page(asked, EXAMPLE)


def ask(asked: Asked) -> Response:
    """Answer one query."""
    sql = asked.form.get("sql", "").strip().rstrip(";")
    try:
        check_beginning(sql)
        reader, database = asked.services.database.reader, asked.services.settings.clickhouse.database
        check_tree(reader.syntax_tree(sql, LIMITS), database)
        asked.show_content("query", detail=sql)
        known = [(str(name), bool(owned)) for name, owned in reader.rows(_TABLES, {"database": database})]
        started = time.monotonic()
        columns, rows = reader.table(
            sql,
            limits={**LIMITS, "additional_table_filters": tenant_filters(known, database, asked.session.tenant_id)},
        )
    except (QueryNotAllowedError, QueryRefusedError) as error:
        return _page(asked, sql, trouble=str(error), status=400)
    return _page(
        asked,
        sql,
        columns=columns,
        rows=rows[:ROWS],
        cut=len(rows) >= ROWS,
        took_ms=(time.monotonic() - started) * 1000,
    )


def _page(asked: Asked, sql: str, *, status: int = 200, trouble: str = "", **answer: object) -> Response:
    known = {"columns": None, "rows": (), "cut": False, "took_ms": 0.0} | answer
    return asked.page("query.html", status=status, sql=sql, trouble=trouble, tables=tables.TABLES, most=ROWS, **known)
