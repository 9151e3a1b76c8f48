"""Captured content of a run does not even leave the database unless it may be shown."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from tachograph.console.web.database import TenantDatabase
from tachograph.console.web.queries import run as queries


class Listening:
    """Hears what is asked, and answers nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, sql: str, **_parameters: Any) -> list[Any]:
        self.asked.append(sql)
        return []

    def together(self, *questions: Callable[[], Any]) -> list[Any]:
        return [question() for question in questions]


@pytest.mark.parametrize("content", [False, True], ids=["without content", "with content"])
@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("agent_runs", "user_request_raw"),
        ("decision_events", "action_summary"),
        ("tool_calls", "tool_input, output, error"),
        ("context_manifests", "intent, retrieval_query"),
        ("violations", "evidence"),
        ("agent_failures", "message"),
    ],
)
def test_columns_with_content_are_asked_for_where_it_is_shown(table: str, columns: str, *, content: bool) -> None:
    """Lengths are no content; the columns themselves are the last that a question names."""
    database = Listening()
    queries.parts(cast("TenantDatabase", database), "run", content=content)
    (asked,) = (sql for sql in database.asked if f" FROM {table} WHERE" in sql)
    assert (f", {columns} FROM {table}" in asked) is content
