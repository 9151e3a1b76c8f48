"""Templates: escaped always, invisible characters made visible, undefined names are errors, addresses are our own."""

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from tachograph.console import spoken
from tachograph.console.tones import tone
from tachograph.console.web import charts, display, words
from tachograph.console.web.roles import Role

if TYPE_CHECKING:
    from tachograph.console.web.asked import Asked

HERE: Final = Path(__file__).parent
STATIC: Final = HERE / "static"

NAVIGATION: Final = (
    ("/runs", "Runs", Role.VIEWER),
    ("/violations", "Violations", Role.VIEWER),
    ("/slos", "SLOs", Role.VIEWER),
    ("/agents", "Agents", Role.VIEWER),
    ("/health", "Pipeline", Role.VIEWER),
    ("/query", "Query", Role.AUDITOR),
    ("/access", "Access", Role.AUDITOR),
)


def address(path: str, **parameters: Any) -> str:
    """An address within the console. Ids may hold anything, so they travel as values of the query."""
    given = {name: value for name, value in parameters.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(given)}" if given else path


class Templates:
    """The templates, compiled once."""

    def __init__(self) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=display.finalize,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals |= {
            "address": address,
            "charts": charts,
            "Role": Role,
            "NAVIGATION": NAVIGATION,
        }
        self._environment.tests["unjudged"] = lambda name, judged: judged[f"{name}_status"] == "unknown"
        self._environment.filters |= {
            "short": display.short,
            "digest": display.digest,
            "exact": spoken.exact,
            "duration": spoken.duration,
            "number": spoken.number,
            "size": spoken.size,
            "percent": spoken.percent,
            "visible": display.visible,
            "tone": tone,
            "said": words.said,
        }

    def page(self, name: str, asked: "Asked", *, status: int = 200, **context: Any) -> Response:
        """A page for somebody who is signed in."""
        html = self._environment.get_template(name).render(
            **context,
            asked=asked,
            session=asked.session,
            theme=asked.theme,
            here=asked.request.url.path,
            full_here=address(asked.request.url.path, **dict(asked.request.query_params)),
            when=partial(when, now=asked.now),
            moment=partial(moment, now=asked.now),
            precise=partial(precise, now=asked.now),
        )
        return HTMLResponse(html, status)

    def bare(self, name: str, *, status: int, **context: Any) -> Response:
        """A page for nobody in particular: the login page, and errors before it."""
        return HTMLResponse(self._environment.get_template(name).render(**context, theme="auto"), status)


def when(moment: datetime | None, *, now: datetime) -> Markup:
    """A moment as people read it, with the exact one beside it."""
    if moment is None:
        return Markup("<span class='none'>\u2013</span>")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        moment.isoformat(), spoken.exact(moment), spoken.ago(moment, now)
    )


def moment(at: datetime | None, *, now: datetime) -> Markup:
    """The same with the exact one below: what people compare with other logs."""
    if at is None:
        return when(at, now=now)
    return Markup('{}<span class="sub clock">{}</span>').format(when(at, now=now), spoken.clock(at, now))


def precise(at: datetime | None, *, now: datetime) -> Markup:
    """To the millisecond first: what lies close together is told apart, and how long ago stands beside it."""
    if at is None:
        return when(at, now=now)
    return Markup('<time datetime="{}" title="{}">{}</time><span class="sub clock">{}</span>').format(
        at.isoformat(), spoken.exact(at), spoken.clock(at, now, timespec="milliseconds"), spoken.ago(at, now)
    )
