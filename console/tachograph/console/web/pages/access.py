"""Who looked at captured content."""

from starlette.responses import Response

from tachograph.console.web.asked import Asked
from tachograph.console.web.queries import access as queries


def access(asked: Asked) -> Response:
    """Views of content, latest first."""
    viewer, run_id = asked.query("viewer"), asked.query("run")
    found = queries.views(asked.database, viewer=viewer, run_id=run_id, before=asked.query("before"))
    page, more = found[: queries.PAGE], found[queries.PAGE :]
    return asked.page(
        "access.html",
        views=page,
        viewer=viewer,
        run_id=run_id,
        older={"viewer": viewer, "run": run_id, "before": queries.cursor(page[-1])} if more else None,
    )
