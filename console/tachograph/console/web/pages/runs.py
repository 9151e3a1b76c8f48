"""The list of runs."""

from typing import Final

from starlette.responses import Response

from tachograph.console.web.asked import Asked
from tachograph.console.web.queries import runs as queries
from tachograph.console.web.roles import Role
from tachograph.schemas.enums import RunStatus, Severity
from tachograph.schemas.topics import ViolationKind

OFTEN: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("All", {}),
    ("Last hour", {"period": "1h"}),
    ("Failed", {"status": "failed"}),
    ("Incomplete", {"completeness": "incomplete"}),
    ("Any violation", {"violation": "any"}),
    ("Critical", {"violation": "critical"}),
)
"""Filters that people on call begin with: a name, and what the address then says."""


def runs(asked: Asked) -> Response:
    """One page of runs, latest first. Everything that selects them is in the address."""
    filters = queries.Filters.of(asked.request.query_params)
    if filters.deep and not asked.may(Role.AUDITOR):
        filters = queries.Filters.of(filters.parameters(deep=""))
    if filters.deep and filters.q:
        asked.show_content("search", detail=filters.q)
    found, choices = asked.database.together(
        lambda: queries.run_ids(asked.database, filters, asked.now), lambda: queries.choices(asked.database)
    )
    page, more = found[: queries.PAGE], found[queries.PAGE :]
    shown = queries.rows(asked.database, [row["run_id"] for row in page]) if page else {}
    return asked.page(
        "runs.html",
        filters=filters,
        often=OFTEN,
        choices=choices,
        periods=tuple(queries.PERIODS),
        statuses=[status.value for status in RunStatus],
        kinds=[kind.value for kind in ViolationKind],
        severities=[severity.value for severity in reversed(Severity)],
        runs=[shown[row["run_id"]] | {"began": row["began"]} for row in page if row["run_id"] in shown],
        older=filters.parameters(before=queries.cursor(page[-1])) if more else None,
        newest=filters.parameters(before=""),
        live=not filters.before and not filters.deep,
    )
