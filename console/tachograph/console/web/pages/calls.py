"""One model call or tool call, with its content. Each view is recorded."""

from starlette.responses import Response

from tachograph.console.web.asked import Asked, PageError
from tachograph.console.web.bundles import bundle_diff
from tachograph.console.web.queries import calls as queries


def model_call(asked: Asked) -> Response:
    """Prompt bundle in its capture mode, what changed since the call before, output, and the tools it asked for."""
    run_id, event_id = asked.query("run"), asked.query("event")
    asked.show_content("model_call", run_id=run_id, target=event_id)
    event = queries.model_call(asked.database, run_id, event_id)
    if event is None:
        raise PageError(404, "There is no such event in this run.")
    before, after, tools, evaluation = asked.database.together(
        lambda: queries.call_before(asked.database, run_id, event["seq"]),
        lambda: queries.call_after(asked.database, run_id, event["seq"]),
        lambda: queries.joined_tools(asked.database, run_id, event["tool_call_ids"]),
        lambda: queries.evaluation(asked.database, run_id, event_id),
    )
    return asked.page(
        "model_call.html",
        event=event,
        before=before,
        after=after,
        diff=bundle_diff(before, event) if before and event["model"] else None,
        tools={row["tool_use_id"]: row for row in tools},
        evaluation=evaluation,
    )


def tool_call(asked: Asked) -> Response:
    """Input, output, hooks and attribution of a tool call."""
    run_id, tool_use_id = asked.query("run"), asked.query("tool")
    asked.show_content("tool_call", run_id=run_id, target=tool_use_id)
    legs = queries.tool_call(asked.database, run_id, tool_use_id)
    if not legs:
        raise PageError(404, "There is no such tool call in this run.")
    return asked.page("tool_call.html", call=legs[0], others=legs[1:])
