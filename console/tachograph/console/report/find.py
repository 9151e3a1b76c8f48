"""Which run is meant: its id, the beginning of it, or ``latest``."""

import difflib
from dataclasses import dataclass
from typing import Final

from tachograph.console.database import Reader
from tachograph.console.visible import visible_line
from tachograph.schemas.errors import TachographError

LATEST: Final = "latest"

_SHOWN: Final = 5
"""Candidates that an error names."""

_RECENT: Final = 500
"""Runs that a mistyped id is compared with."""

_EXACT_SQL: Final = """
SELECT DISTINCT tenant_id, run_id FROM agent_runs
WHERE ({tenant:String} = '' OR tenant_id = {tenant:String}) AND run_id = {run:String} LIMIT 2
"""

_PREFIX_SQL: Final = """
SELECT tenant_id, run_id FROM agent_runs
WHERE ({tenant:String} = '' OR tenant_id = {tenant:String}) AND startsWith(run_id, {run:String})
GROUP BY tenant_id, run_id ORDER BY max(received_at) DESC, run_id LIMIT 6
"""

_LATEST_SQL: Final = """
SELECT tenant_id, run_id FROM agent_runs
WHERE ({tenant:String} = '' OR tenant_id = {tenant:String}) AND run_id != ''
GROUP BY tenant_id, run_id ORDER BY min(occurred_at) DESC, run_id LIMIT {limit:UInt32}
"""


class UnknownRunError(TachographError):
    """No run, or more than one, fits what was asked for. The text names the nearest."""


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run that exists."""

    tenant_id: str
    run_id: str


def find_run(database: Reader, wanted: str, tenant: str = "") -> FoundRun:
    """The run that is meant. Raises UnknownRunError with what is near."""
    if wanted == LATEST:
        found = database.rows(_LATEST_SQL, {"tenant": tenant, "limit": 1})
        if not found:
            raise UnknownRunError("there are no runs yet: `tachograph demo` makes some")
        return FoundRun(*found[0])
    about = {"tenant": tenant, "run": wanted}
    found = database.rows(_EXACT_SQL, about) or (database.rows(_PREFIX_SQL, about) if wanted else [])
    if len(found) == 1:
        return FoundRun(*found[0])
    shown = visible_line(wanted[:100])
    if not found:
        recent = [run_id for _, run_id in database.rows(_LATEST_SQL, {"tenant": tenant, "limit": _RECENT})]
        raise UnknownRunError(f"no run is called {shown}{near(wanted, recent)}")
    if len({run_id for _, run_id in found}) == 1:
        raise UnknownRunError(f"more than one tenant has a run {shown}: say which with --tenant")
    names = ", ".join(visible_line(run_id[:100]) for _, run_id in found[:_SHOWN])
    more = " and more" if len(found) > _SHOWN else ""
    raise UnknownRunError(f"{shown} is the beginning of more than one run: {names}{more}. Give more of the id")


def recent_runs(database: Reader, prefix: str, limit: int = 20) -> list[str]:
    """Ids of the latest runs that begin so, for completion."""
    recent = database.rows(_LATEST_SQL, {"tenant": "", "limit": _RECENT})
    return [run_id for _, run_id in recent if run_id.startswith(prefix) and run_id.isprintable()][:limit]


def near(wanted: str, known: list[str]) -> str:
    """How the sentence about an unknown run ends. Pure."""
    if not known:
        return ": there are no runs yet, `tachograph demo` makes some"
    close = difflib.get_close_matches(wanted, known, _SHOWN, 0.5) or [run for run in known if wanted and wanted in run]
    if close:
        return f"; did you mean {', '.join(visible_line(run[:100]) for run in close[:_SHOWN])}?"
    return f"; the latest is {visible_line(known[0][:100])}, and `tachograph runs` lists them"
