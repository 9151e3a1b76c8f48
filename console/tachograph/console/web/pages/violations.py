"""Violations as they come."""

from starlette.responses import Response

from tachograph.console.web.asked import Asked
from tachograph.console.web.queries import violations as queries
from tachograph.console.web.queries.runs import PERIODS
from tachograph.schemas.enums import Severity
from tachograph.schemas.topics import ViolationKind


def violations(asked: Asked) -> Response:
    """One page, latest first, with the filters in the address."""
    filters = queries.Filters.of(asked.request.query_params)
    found, counted, codes = asked.database.together(
        lambda: queries.violations(asked.database, filters, asked.now),
        lambda: queries.counts(asked.database, asked.now),
        lambda: queries.codes(asked.database),
    )
    page, more = found[: queries.PAGE], found[queries.PAGE :]
    kinds = [kind.value for kind in ViolationKind]
    severities = [severity.value for severity in reversed(Severity)]
    return asked.page(
        "violations.html",
        filters=filters,
        kinds=kinds,
        severities=severities,
        codes=codes,
        periods=tuple(PERIODS),
        counts={(row["kind"], row["severity"]): row["count"] for row in counted},
        violations=page,
        older=filters.parameters(before=queries.cursor(page[-1])) if more else None,
        newest=filters.parameters(before=""),
        live=not filters.before,
    )
