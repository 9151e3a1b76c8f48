"""One run."""

from itertools import groupby
from typing import Any

from starlette.responses import Response

from tachograph.console.web.asked import Asked, PageError
from tachograph.console.web.database import Row
from tachograph.console.web.found import by_severity, marked, worst_first
from tachograph.console.web.queries import run as queries
from tachograph.console.web.roles import Role
from tachograph.console.web.waterfall import waterfall
from tachograph.console.web.words import decision_tone

BARS = 200
"""Bars that are drawn at first; the rest is one link away."""
LISTED = 100
"""Rows of the other lists that are open at first."""
TOLD = 5
"""Findings that the head of the page names; the list below has all."""


def run(asked: Asked) -> Response:
    """Everything of a run but its captured content, which is asked for separately, and recorded."""
    run_id = asked.query("id")
    header = queries.header(asked.database, run_id)
    if header is None:
        raise PageError(404, "There is no such run. It may be older than its retention, or not have arrived yet.")
    content = bool(asked.query("content"))
    if content:
        asked.show_content("run", run_id=run_id)
    parts = queries.parts(asked.database, run_id, content=content)
    drawn = waterfall(parts["steps"], parts["events"], parts["tools"])
    whole = bool(asked.query("all"))
    lists: dict[str, Any] = {**parts, "evaluations": {row["event_id"]: row for row in parts["evaluations"]}}
    return asked.page(
        "run.html",
        run=header,
        content=content,
        # With content, every look is recorded: that is for people, not for a clock.
        live=header["completeness"] == "open" and not content,
        may_see=asked.may(Role.AUDITOR),
        whole=whole,
        waterfall=drawn,
        bars=drawn.bars if whole else drawn.bars[:BARS],
        marked=marked({bar.id for bar in drawn.bars}, parts["violations"]),
        worst=worst_first(parts["violations"]),
        told=TOLD,
        by_severity=by_severity(parts["violations"]),
        most=queries.MOST,
        listed=queries.MOST if whole else LISTED,
        event_ids={row["event_id"] for row in parts["events"]},
        signal_groups=_grouped(parts["signals"]),
        contexts=_contexts(parts["manifests"], parts["items"]),
        step_names={row["step_id"]: row["name"] for row in parts["steps"]},
        decision_tone=decision_tone,
        **lists,
    )


def _grouped(signals: list[Row]) -> list[dict[str, Any]]:
    """Signals by type with counts: no score is made of them."""
    return [
        {
            "type": kind,
            "signals": rows,
            "true": sum(row["value"] for row in rows),
            "false": sum(not row["value"] for row in rows),
            "weighted": [row["weight"] for row in rows if row["weight"] is not None],
        }
        for kind, found in groupby(signals, key=lambda row: row["signal_type"])
        for rows in [list(found)]
    ]


def _contexts(manifests: list[Row], items: list[Row]) -> list[Row]:
    """Manifests, each with what was in and what was left out."""
    by_manifest: dict[str, list[Row]] = {}
    for item in items:
        by_manifest.setdefault(item["manifest_id"], []).append(item)
    return [
        manifest
        | {
            "inside": [item for item in by_manifest.get(manifest["manifest_id"], []) if item["is_included"]],
            "outside": [item for item in by_manifest.get(manifest["manifest_id"], []) if not item["is_included"]],
        }
        for manifest in manifests
    ]
