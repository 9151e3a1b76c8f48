"""Questions of one session: bound to its tenant, with limits. A query that does not name the tenant is a bug."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Final

from tachograph.console.database import Reader, reader
from tachograph.schemas.settings import Settings

LIMITS: Final = {"max_execution_time": 10, "max_result_rows": 20_000, "result_overflow_mode": "throw"}
"""One page's question. A page that needs more than this is wrong, not slow."""

TENANT: Final = "{tenant:String}"
SIDE_BY_SIDE: Final = 6
"""Questions of one page asked at once. ClickHouse takes 5 to 20 ms for each; a run's page has a dozen."""

THREADS: Final = 2 * SIDE_BY_SIDE
CONNECTIONS: Final = THREADS + 40
"""As many as threads that may ask: those of the pool, and those in which Starlette runs pages."""

Row = dict[str, Any]
Ask = Callable[[], Any]


class Database:
    """One connection as the console's account, opened when it is first needed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._stack = ExitStack()
        self._reader: Reader | None = None
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="console-query")

    @property
    def reader(self) -> Reader:
        """Raises DatabaseUnreachableError as long as ClickHouse is away."""
        with self._lock:
            if self._reader is None:
                self._reader = self._stack.enter_context(reader(self._settings, connections=CONNECTIONS))
            return self._reader

    def of(self, tenant_id: str) -> "TenantDatabase":
        """Questions about one tenant."""
        return TenantDatabase(self, tenant_id)

    def together(self, questions: Sequence[Ask]) -> list[Any]:
        """Ask side by side; answers in the order of the questions."""
        return list(self._pool.map(lambda question: question(), questions))

    def close(self) -> None:
        """Close the connection."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._stack.close()


class TenantDatabase:
    """Answers about one tenant, as rows with names."""

    def __init__(self, database: Database, tenant_id: str) -> None:
        self._database = database
        self.tenant_id = tenant_id

    def ask(self, sql: str, **parameters: Any) -> list[Row]:
        """Rows of a query that filters by the tenant."""
        if TENANT not in sql:
            raise ValueError("a query of the console must filter by its session's tenant")
        columns, rows = self._database.reader.table(sql, {**parameters, "tenant": self.tenant_id}, limits=LIMITS)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def one(self, sql: str, **parameters: Any) -> Row | None:
        """The first row, if there is one."""
        found = self.ask(sql, **parameters)
        return found[0] if found else None

    def rows(self, sql: str, parameters: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
        """Rows without names, for those who count objectives."""
        return [list(row.values()) for row in self.ask(sql, **parameters)]

    def together(self, *questions: Ask) -> list[Any]:
        """Ask side by side."""
        return self._database.together(questions)
